// Run once when the page stands. The workbench is replaced as a whole on every update, so
// what a reader opened, scrolled or copied is kept here and put back.
() => {
  const opened = new Set();
  const scrolled = new Map();
  const root = document.documentElement;
  let lastPhase = "";

  const setDark = (dark) => document.body.classList.toggle("dark", dark);
  try {
    const kept = localStorage.getItem("heal-theme");
    const asked = new URLSearchParams(location.search).get("__theme");
    if (kept && !asked) setDark(kept === "dark");
  } catch (error) {
    console.info("the theme is not kept:", error.message);
  }

  const reopen = (part) => {
    for (const item of part.querySelectorAll("details[data-key]")) {
      if (opened.has(item.dataset.key)) item.open = true;
    }
  };

  // Whether the verdict, which stands at the top, can be read without scrolling.
  const inView = (bench) => {
    const top = bench.getBoundingClientRect().top;
    return top >= 0 && top < innerHeight - 120;
  };

  const restore = (bench) => {
    reopen(bench);
    for (const pane of bench.querySelectorAll(".scroll[data-key]")) {
      const place = scrolled.get(pane.dataset.key);
      const follows = pane.dataset.key === "timeline" && (!place || place.atEnd);
      if (follows) pane.scrollTop = pane.scrollHeight;
      else if (place) {
        pane.scrollTop = place.top;
        pane.scrollLeft = place.left;
      }
    }
    const inner = bench.querySelector("[data-announce]");
    const live = document.getElementById("live");
    if (inner && live && live.textContent !== inner.dataset.announce) {
      live.textContent = inner.dataset.announce;
    }
    const phase = inner ? inner.dataset.phase : "";
    const turned = lastPhase !== "" && phase !== lastPhase && phase !== "empty";
    if (turned && !inView(bench)) bench.scrollIntoView({ block: "start" });
    lastPhase = phase;
    const clock = bench.querySelector(".clock");
    // A tick changes the bench too: only another elapsed time starts the count anew.
    if (clock && clock.dataset.from !== clock.dataset.elapsed) {
      clock.dataset.from = clock.dataset.elapsed;
      clock.dataset.seen = performance.now();
    }
    tick();
  };

  const tick = () => {
    const clock = document.querySelector("#bench .clock");
    if (!clock) return;
    const since = (performance.now() - Number(clock.dataset.seen || performance.now())) / 1000;
    const text = (Number(clock.dataset.elapsed) + since).toFixed(1) + " s";
    if (clock.textContent !== text) clock.textContent = text;
  };
  setInterval(tick, 200);

  document.addEventListener("toggle", (event) => {
    const key = event.target.dataset && event.target.dataset.key;
    if (!key || !event.target.isConnected) return;
    if (event.target.open) opened.add(key);
    else opened.delete(key);
  }, true);

  document.addEventListener("scroll", (event) => {
    const pane = event.target;
    if (!pane.classList || !pane.classList.contains("scroll")) return;
    scrolled.set(pane.dataset.key, {
      top: pane.scrollTop,
      left: pane.scrollLeft,
      atEnd: pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 4,
    });
  }, true);

  document.addEventListener("click", (event) => {
    const copy = event.target.closest && event.target.closest("button.copy");
    if (copy) {
      const text = document.querySelector(".program .whole pre").textContent;
      navigator.clipboard.writeText(text).then(
        () => { copy.textContent = "Copied"; },
        () => { copy.textContent = "Copying is not allowed here"; },
      );
    }
    if (event.target.closest && event.target.closest("button.use")) {
      document.querySelector("button#use").click();
      document.getElementById("code").scrollIntoView({ block: "nearest" });
    }
    if (event.target.closest && event.target.closest("#theme-toggle")) {
      const dark = !document.body.classList.contains("dark");
      setDark(dark);
      try {
        localStorage.setItem("heal-theme", dark ? "dark" : "light");
      } catch (error) {
        console.info("the theme is not kept:", error.message);
      }
    }
  });

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      const heal = document.querySelector("button#heal");
      if (!heal) return;
      // An editor would begin a new line, also while a run goes on.
      event.preventDefault();
      event.stopPropagation();
      if (!heal.disabled) {
        document.activeElement && document.activeElement.blur();
        setTimeout(() => heal.click(), 60);
      }
    }
  }, true);

  const attach = () => {
    const bench = document.getElementById("bench");
    if (!bench) return requestAnimationFrame(attach);
    root.lang = root.lang || "en";
    for (const place of ["code", "tests", "edited"]) {
      const part = document.getElementById(place);
      const named = () => {
        const editor = part.querySelector(".cm-content");
        const label = part.querySelector("label, .block-label");
        if (editor && label) editor.setAttribute("aria-label", label.textContent.trim());
      };
      if (part) new MutationObserver(named).observe(part, { childList: true, subtree: true });
      if (part) named();
    }
    new MutationObserver(() => restore(bench)).observe(bench, { childList: true, subtree: true });
    restore(bench);
    for (const name of ["plan", "spending"]) {
      const part = document.getElementById(name);
      new MutationObserver(() => reopen(part)).observe(part, { childList: true, subtree: true });
    }
  };
  attach();
}
