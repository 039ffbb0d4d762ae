// Run once when the page stands. The workbench is replaced as a whole on every update, so
// what a reader opened, scrolled or copied is kept here and put back.
() => {
  const opened = new Set();
  const scrolled = new Map();
  const root = document.documentElement;
  let lastPhase = "";
  let waited = "";  // the question that the shown run waits with
  let starting = false;  // a run was asked for that is not known yet
  let followed = false;  // a run has gone on here since the page was loaded

  // Who comes by a run's address, or to a question, sees it first, unless they have begun to do more.
  const linked = new URLSearchParams(location.search).has("run");
  let arriving = true;
  for (const kind of ["pointerdown", "keydown", "wheel", "touchstart"]) {
    addEventListener(kind, () => { arriving = false; }, { capture: true, passive: true });
  }

  // What a reader looks at: which tab, which program (none: the one that leads), held against
  // which, and the open cell of each row. A new run begins anew.
  let look = { run: "", tab: "", at: null, against: "original", cells: new Map() };

  const setDark = (dark) => document.body.classList.toggle("dark", dark);
  try {
    const kept = localStorage.getItem("heal-theme");
    const asked = new URLSearchParams(location.search).get("__theme");
    if (kept && !asked) setDark(kept === "dark");
  } catch (error) {
    console.info("the theme is not kept:", error.message);
  }

  const press = (name) => document.querySelector("button#" + name).click();

  // A run that was answered elsewhere is followed here too; one answered here is followed already.
  window.movedOn = (from) => setTimeout(() => { if (waited === from) press("follow"); }, 400);

  const reopen = (part) => {
    for (const item of part.querySelectorAll("details[data-key]")) {
      if (opened.has(item.dataset.key)) item.open = true;
    }
    for (const line of part.querySelectorAll("button.fold")) unfold(line, opened.has(line.dataset.key));
  };

  // Rows of a table that are one line until they are asked for.
  const unfold = (line, open) => {
    line.setAttribute("aria-expanded", String(open));
    line.closest("tbody").nextElementSibling.hidden = !open;
  };

  // Whether what stands at the top can be read without scrolling, and a little of what follows.
  const inView = (part, head = part) => {
    const { top, height } = head.getBoundingClientRect();
    return top >= 0 && top + Math.min(height, 300) + 80 < innerHeight;
  };

  const all = (part, selector) => part.querySelectorAll(selector);

  const showTab = (bench) => {
    const names = [...all(bench, "[role=tab]")].map((tab) => tab.id.slice(4));
    const opens = bench.querySelector("[role=tablist]")?.dataset.opens;
    const chosen = names.includes(look.tab) ? look.tab : opens;
    for (const name of names) {
      const tab = document.getElementById("tab-" + name);
      tab.setAttribute("aria-selected", String(name === chosen));
      tab.tabIndex = name === chosen ? 0 : -1;
      document.getElementById("panel-" + name).hidden = name !== chosen;
    }
  };

  const place = (bench) => {
    const looked = bench.querySelector(".looked");
    if (!looked) return 0;
    const leads = Number(looked.dataset.shown);
    const range = looked.querySelector("input[type=range]");
    const there = range && look.at >= Number(range.min) && look.at <= Number(range.max);
    return look.at === null || !there ? leads : look.at;
  };

  const showProgram = (bench) => {
    const looked = bench.querySelector(".looked");
    if (!looked) return;
    const at = place(bench);
    for (const part of all(looked, "[data-at]")) part.hidden = Number(part.dataset.at) !== at;
    const range = looked.querySelector("input[type=range]");
    if (range) {
      range.value = at;
      const name = looked.querySelector(`.which [data-at="${at}"] b`);
      range.setAttribute("aria-valuetext", name ? name.textContent : String(at));
      for (const step of all(looked, "[data-step]")) {
        const next = at + Number(step.dataset.step);
        step.disabled = next < Number(range.min) || next > Number(range.max);
      }
      [...all(bench, ".tests col")].forEach((col, index) => {
        col.classList.toggle("picked", index === at + 1);
      });
    }
    const select = looked.querySelector("select.against");
    if (!select) return;
    select.closest(".held").hidden = at === 0;
    for (const option of select.options) {
      option.disabled = option.value === String(at) || (at === 0 && option.value !== "original");
    }
    const offered = [...select.options].find((one) => one.value === look.against && !one.disabled);
    const against = offered ? look.against : "original";
    select.value = against;
    const panel = looked.querySelector(`#panel-patch > [data-at="${at}"]`);
    const parts = [...all(panel, "[data-against]")];
    const found = parts.some((part) => part.dataset.against === against);
    for (const part of parts) {
      part.hidden = part.dataset.against !== (found ? against : "original");
    }
  };

  window.lookedAt = () => {
    const bench = document.getElementById("bench");
    return bench ? String(place(bench)) : "";
  };

  const showCells = (bench) => {
    const rows = [...all(bench, "tr.row")];
    for (const row of rows) {
      const open = look.cells.get(row.dataset.row);
      const inside = row.nextElementSibling;
      const cells = [...all(row, "[data-cell]")];
      inside.hidden = !cells.some((cell) => cell.dataset.cell === open);
      for (const cell of cells) {
        cell.setAttribute("aria-expanded", String(cell.dataset.cell === open));
      }
      for (const seen of all(inside, "[data-seen]")) seen.hidden = seen.dataset.seen !== open;
      // Each row is one stop of the Tab key: its open cell, or its last.
      const stop = cells.find((cell) => cell.dataset.cell === open) || cells[cells.length - 1];
      if (stop) stop.tabIndex = 0;
    }
  };

  // What a model is saying comes beside the bench, which is not sent anew for it.
  const showWriting = (bench) => {
    for (const pre of all(bench, "pre.writing")) {
      const said = document.querySelector(`#writing [data-call="${pre.dataset.call}"]`);
      const text = said ? said.textContent : "";
      if (pre.textContent === text) continue;
      pre.textContent = text;
      pre.scrollTop = pre.scrollHeight;
    }
  };

  // What has the focus is replaced with the bench: its successor gets it.
  let focused = "";
  const refocus = (bench) => {
    const lost = focused && (!document.activeElement || document.activeElement === document.body);
    const part = lost && bench.querySelector(focused);
    if (part) part.focus({ preventScroll: true });
  };
  document.addEventListener("focusin", ({ target }) => {
    const cell = target.closest("#bench [data-cell]");
    const key = target.closest("#bench details[data-key]");
    focused = !target.closest("#bench") ? ""
      : cell ? `[data-row=${CSS.escape(cell.closest("tr").dataset.row)}] [data-cell="${cell.dataset.cell}"]`
      : target.id ? `#${target.id}`
      : target.matches("button.fold") ? "button.fold"
      : target.matches("input[type=range]") ? "input[type=range]"
      : target.matches("select.against") ? "select.against"
      : key && target.matches("summary") ? `[data-key=${CSS.escape(key.dataset.key)}] > summary`
      : "";
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (!target.closest("#bench")) focused = "";
  });

  const restore = (bench) => {
    const shown = bench.querySelector("[data-run]");
    const run = shown ? shown.dataset.run : "";
    const before = look.run;
    if (run && run !== look.run) {
      look = { run, tab: "", at: null, against: "original", cells: new Map() };
    }
    reopen(bench);
    showTab(bench);
    showProgram(bench);
    showCells(bench);
    showWriting(bench);
    refocus(bench);
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
    // What was asked for was not begun, and the result of the text before is shown again.
    if (starting && phase === "finished" && run === before && !asIs) {
      bench.classList.add("stale");
      draft = true;
    }
    if (phase === "running" && run && run !== before) other = false;
    starting = phase === "running" && !run;
    if (phase === "running") {
      if (lastPhase !== "running") lookSoon();
      followed = true;
      bench.classList.remove("stale");
    }
    const first = arriving && scrollY === 0 && (linked || phase === "waiting");
    const turned = phase !== lastPhase && !["", "empty"].includes(phase)
      && (lastPhase !== "" || starting || first);
    if (turned && !inView(bench, bench.querySelector(".status") || bench)) bench.scrollIntoView({ block: "start" });
    // Under a result the examples are far from what they fill in.
    if (turned && !lastPhase && innerWidth <= 800) document.querySelector("#cards details").open = false;
    lastPhase = phase;
    const waits = (inner && inner.dataset.waits) || "";
    if (waits && waits !== waited) press("linger");
    waited = waits;
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
    if (!clock || isAway()) return;
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

  const toggleCell = (cell) => {
    const row = cell.closest("tr.row").dataset.row;
    if (look.cells.get(row) === cell.dataset.cell) look.cells.delete(row);
    else look.cells.set(row, cell.dataset.cell);
    showCells(cell.closest("#bench"));
  };

  const goTo = (bench, at) => {
    look.at = at;
    showProgram(bench);
  };

  document.addEventListener("input", (event) => {
    const bench = document.getElementById("bench");
    if (event.target.matches("#bench .scrub input")) goTo(bench, Number(event.target.value));
    if (event.target.matches("#bench select.against")) {
      look.against = event.target.value;
      showProgram(bench);
    }
  });

  document.addEventListener("click", (event) => {
    const bench = document.getElementById("bench");
    const within = (selector) => event.target.closest && event.target.closest(selector);
    const tab = within("#bench [role=tab]");
    if (tab) {
      look.tab = tab.id.slice(4);
      showTab(bench);
    }
    const step = within("#bench [data-step]");
    if (step) goTo(bench, place(bench) + Number(step.dataset.step));
    const line = within("button.fold");
    if (line) {
      const open = line.getAttribute("aria-expanded") !== "true";
      opened[open ? "add" : "delete"](line.dataset.key);
      unfold(line, open);
    }
    const cell = within("#bench [data-cell]");
    if (cell) toggleCell(cell);
    const name = within("#bench tr.row th");
    if (name) {
      const cells = all(name.parentElement, "[data-cell]");
      const open = look.cells.get(name.parentElement.dataset.row);
      const opened = [...cells].find((one) => one.dataset.cell === open);
      if (cells.length) toggleCell(opened || cells[cells.length - 1]);
    }
    const act = within("#bench [data-act]");
    if (act) press(act.dataset.act);
    const chip = within("#bench [data-example]");
    if (chip) document.querySelector(`#chips [data-example="${chip.dataset.example}"]`).click();
    const copy = event.target.closest && event.target.closest("button.copy");
    if (copy) {
      const text = document.querySelector("#bench [data-final] pre").textContent;
      window.copied(text).then(
        () => window.tell(copy, "Copied"),
        () => window.tell(copy, "Copying is not allowed here"),
      );
    }
    if (event.target.closest && event.target.closest("button.use")) {
      press("use");
      window.tell(event.target.closest("button.use"), "In the editor");
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

  // What takes the fields over asks first where they hold what was typed since the last heal, and
  // clears files: they would be healed in its place.
  let draft = false;
  let other = false;  // what stands there is another text than that of the shown run
  let asIs = true;  // it was not when Heal was pressed
  const FIELDS = ["#code .cm-content", "#tests .cm-content", "#words textarea"];
  const held = (one) => one && (one.value || (one.innerText || "").trim());
  const holds = (...fields) => fields.some((one) => held(document.querySelector(one)));
  const WHETHER = "The fields hold what was typed since. Replace it?";
  // Files take the place of a program, its tests and its words; tests that stand alone go with them.
  window.mayClear = () => {
    window.cleared = holds(FIELDS[0], FIELDS[2]);
    if (window.cleared && draft && !confirm(WHETHER)) return false;
    if (window.cleared) draft = false;
    return true;
  };
  document.addEventListener("click", (event) => {
    const pressed = (selector) => event.target.closest && event.target.closest(selector);
    if (pressed("button#heal")) {
      asIs = !other;
      draft = false;
      picked.at = 0;  // an example that was chosen has been heard of
      document.querySelector("#files:has(.unsend[hidden]) .sent")?.replaceChildren();
    }
    if (!pressed("button.use, #bench [data-act=open], [data-example]")) return;
    if (draft && holds(...FIELDS) && !confirm(WHETHER)) {
      event.stopPropagation();
      return;
    }
    draft = false;
    other = true;
    document.getElementById("bench").classList.remove("stale");
    const files = document.querySelector("#files .unsend:not([hidden])");
    if (!files) return;
    files.click();
    document.querySelector("#files .sent").textContent =
      "The files are cleared: the editor holds what is healed next.";
  }, true);

  // What is typed after a run has ended is another text than that which its result is of.
  const typed = ({ type, key, target }) => {
    if (type === "keydown" && !["Backspace", "Delete", "Enter"].includes(key)) return;
    if (target.closest && target.closest("#code, #tests, #words")) draft = other = true;
    if (lastPhase === "finished" && target.closest && target.closest("#code, #tests")) {
      document.getElementById("bench").classList.add("stale");
    }
  };
  for (const kind of ["input", "paste", "cut", "drop", "keydown"]) {
    document.addEventListener(kind, typed, true);
  }

  // Arrow keys move among tabs, and in a row of the tests.
  document.addEventListener("keydown", (event) => {
    const kind = ["[role=tablist]", "tr.row"].find((one) => event.target.closest(`#bench ${one}`));
    if (!kind || event.ctrlKey || event.altKey || event.metaKey) return;
    const stops = [...all(event.target.closest(kind), "[role=tab], [data-cell]")];
    const now = stops.indexOf(event.target);
    const to = {
      ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: stops.length - 1,
    }[event.key];
    if (now < 0 || to === undefined) return;
    event.preventDefault();
    const next = stops[(to + stops.length) % stops.length];
    for (const stop of stops) stop.tabIndex = stop === next ? 0 : -1;
    next.focus();
    if (kind === "[role=tablist]") next.click();
  });

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      const heal = document.querySelector("button#heal");
      if (!heal) return;
      // An editor would begin a new line, also while a run goes on.
      event.preventDefault();
      event.stopPropagation();
      if (!heal.disabled) {
        // An editor tells what was typed when it is left; the reader stays where they were.
        const typing = document.activeElement;
        if (typing) typing.blur();
        setTimeout(() => {
          heal.click();
          if (typing) typing.focus({ preventScroll: true });
        }, 60);
      }
    }
  }, true);

  // A question of the run that goes on here, or that somebody came to, is brought into view, once.
  let asking = null;
  const seeQuestion = () => {
    const cards = ["question", "review", "paused"].map((name) => document.getElementById(name));
    const card = cards.find((one) => one && one.offsetParent) || null;
    const meant = followed || (arriving && (linked || lastPhase === "waiting"));
    if (card && card !== asking && meant && !inView(card)) {
      card.scrollIntoView({ block: "start" });
    }
    asking = card;
  };

  // Why nothing came of a click stands under the button, which may be out of view by then.
  const seeSaid = (said) => {
    const told = said.querySelector("[role=alert]");
    if (told && told.textContent.trim() && !inView(told)) told.scrollIntoView({ block: "center" });
  };

  // Said by the page itself: a server that is away can say nothing.
  const away = document.createElement("p");
  away.id = "away";
  away.setAttribute("role", "alert");
  document.body.append(away);
  let since = "";
  let full = "";  // what a server says that takes no more requests for now
  let looks = 0;
  const GONE = "The server does not answer. What you began is kept there, and goes on once it is " +
    "back; leave this page open, it looks again by itself.";
  // A Stop that could not be told is told when the server is back, also by the page loaded anew.
  let stopped = 0;
  const untold = (run) => {
    try {
      if (run === undefined) return sessionStorage.getItem("heal-stop") || "";
      sessionStorage.setItem("heal-stop", run);
    } catch (error) {
      console.info("a stop is not kept:", error.message);
    }
    return "";
  };
  let picked = { example: "", at: 0 };
  let chosen = "";  // an example whose choice could not be told
  const isAway = () => away.textContent.startsWith(GONE);
  const sayAway = (text) => {
    const stop = text === GONE && untold() ? " Stop is told it then." : "";
    const then = stop + (text === GONE && chosen ? " The example that you chose is healed then." : "");
    if (away.textContent !== text + then) away.textContent = text + then;
  };
  document.addEventListener("click", ({ target }) => {
    const part = target.closest && target.closest("[data-example]");
    if (!part) return;
    picked = { example: part.dataset.example, at: Date.now() };
    if (isAway()) chosen = picked.example;
    if (isAway()) sayAway(GONE);
  }, true);
  const chooseAgain = () => {
    const part = document.querySelector(`:is(#chips, #cards) [data-example="${chosen}"]`);
    chosen = "";
    if (part) part.click();
  };
  document.addEventListener("click", (event) => {
    if (!event.target.closest || !event.target.closest("button#stop")) return;
    stopped = Date.now();
    if (isAway()) untold(look.run);
    if (isAway()) sayAway(GONE);
  }, true);
  const stopAgain = () => {
    const stop = document.querySelector("button#stop");
    if (!untold() || isAway() || !stop || stop.disabled || untold() !== look.run) return;
    untold("");
    press("stop");
  };
  setInterval(stopAgain, 500);

  // Gradio says nothing of a server that is full, and late of one that is gone.
  const lookNow = () => {
    if (Date.now() - stopped < 3000) untold(look.run);
    if (Date.now() - picked.at < 3000) chosen = picked.example;
    clearTimeout(looks);
    ping();
  };
  const fetched = window.fetch;
  window.fetch = async (...given) => {
    const asked = String((given[0] && given[0].url) || given[0]);
    const own = asked.includes("gradio_api/");
    const told = own && ((given[1] && given[1].method) || "") === "POST";
    let answer;
    try {
      answer = await fetched(...(own ? inSession(given) : given));
    } catch (error) {
      if (own && error.name !== "AbortError") lookNow();
      if (error.name !== "AbortError" && asked.includes("queue/data?")) return refused();
      if (!told || error.name === "AbortError") throw error;
      return Response.json({ error: UNHEARD, detail: UNHEARD }, { status: 500 });
    }
    if (answer.status === 429) {
      answer.clone().json().then(({ detail }) => {
        full = detail;
        sayAway(full);
        const wait = Number(answer.headers.get("retry-after")) || 60;
        setTimeout(() => {
          full = "";
          sayAway("");
          // What the open panel was to list was refused.
          const again = [...document.querySelectorAll("[id$=-again]")]
            .find((button) => button.parentElement.offsetParent);
          if (again) again.click();
          lookSoon();
        }, wait * 1000);
      }, () => {});
    }
    return asked.includes("queue/data?") ? whole(answer) : answer;
  };

  // Gradio gives a page up for good whose stream breaks off, as proxies do to long ones, or is
  // refused. Here such a stream ends in order, with what was open on it as failed, and a run is
  // followed again; in a session of its own, since a server forgets the broken one at a moment of
  // its choice.
  const UNHEARD = "The connection broke off. What you just did may not have been heard.";
  const ENDS = [
    { msg: "process_completed", success: false, output: { error: "", visible: false } },
    { msg: "close_stream" },
  ].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  let broken = 0;  // how many streams have been
  let unfollowed = false;
  const inSession = ([asked, how]) => {
    if (!broken) return [asked, how];
    if (asked instanceof Request) {
      return [new Request(asked.url.replace(/session_hash=\w+/, `$&_${broken}`), asked), how];
    }
    const body = how && typeof how.body === "string"
      ? how.body.replace(/"session_hash":"\w+/, `$&_${broken}`) : how && how.body;
    return [asked, { ...how, body }];
  };
  // A server that is full, a proxy whose server is away, or a connection cut before the answer.
  const refused = () => {
    broken += 1;
    unfollowed = true;
    setTimeout(lookNow, 1000);
    return new Response(ENDS, { headers: { "content-type": "text/event-stream" } });
  };
  const whole = (answer) => {
    if (!answer.ok) return refused();
    const begun = performance.now();
    const reader = answer.body.getReader();
    const read = new TextDecoder();
    let tail = "";
    const mended = (to) => {
      broken += 1;
      unfollowed = true;
      to.enqueue(new TextEncoder().encode(`\n\n${ENDS}`));
      to.close();
      const again = performance.now() - begun < 1000;  // the last one did not live long either
      setTimeout(lookNow, again ? 1000 : 0);
    };
    const pull = async (to) => {
      try {
        const { done, value } = await reader.read();
        if (done) return tail.includes('"close_stream"') ? to.close() : mended(to);
        tail = (tail + read.decode(value, { stream: true })).slice(-300);
        if (tail.includes('"session_not_found":true')) return mended(to);
        to.enqueue(value);
      } catch (error) {
        if (error.name === "AbortError") to.error(error);
        else mended(to);
      }
    };
    return new Response(new ReadableStream({ pull, cancel: (why) => reader.cancel(why) }), answer);
  };
  const ping = async () => {
    let here = true;
    let began = since;
    try {
      const answer = await fetch("healthz", { cache: "no-store" });
      here = answer.status !== 502 && answer.status !== 504;
      if (answer.ok) began = (await answer.json().catch(() => ({}))).since || since;
    } catch (error) {
      here = document.visibilityState === "hidden";
    }
    const anew = here && since && began !== since;  // it may have another page
    const back = here && (anew || isAway() || unfollowed);
    const goesOn = back && !full && ["running", "waiting"].includes(lastPhase);
    since = began;
    if (goesOn && anew) return location.reload();
    sayAway(here ? full : GONE);
    if (here && !full) unfollowed = false;
    if (goesOn) press("follow");
    if (here && chosen) chooseAgain();
    clearTimeout(looks);
    looks = setTimeout(ping, here && lastPhase !== "running" ? 10000 : 1500);
  };
  const lookSoon = () => {
    clearTimeout(looks);
    looks = setTimeout(ping, 1500);
  };
  lookSoon();

  // The editors' own colours are made for one theme each: they are kept as hues, and made as light or
  // dark as the page has to have them.
  const paint = () => {
    for (const { sheet } of all(document.head, "style")) {
      for (const { selectorText, style } of (sheet && sheet.cssRules) || []) {
        if (!/^\.ͼ\w+$/.test(selectorText) || !/^(#|rgb\()/.test(style.color)) continue;
        const light = "clamp(var(--token-least), l, var(--token-most))";
        style.setProperty("color", `oklch(from ${style.color} ${light} c h)`, "important");
      }
    }
  };
  new MutationObserver(paint).observe(document.head, { childList: true, subtree: true });
  paint();

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
        if (editor) editor.tabIndex = 0;  // as long text scrolls
      };
      if (part) new MutationObserver(named).observe(part, { childList: true, subtree: true });
      if (part) named();
    }
    new MutationObserver(() => restore(bench)).observe(bench, { childList: true, subtree: true });
    restore(bench);
    new MutationObserver(() => showWriting(bench)).observe(document.getElementById("writing"), {
      childList: true, subtree: true, characterData: true,
    });
    new MutationObserver(seeQuestion).observe(document.getElementById("output"), {
      childList: true, subtree: true, attributes: true, attributeFilter: ["class", "style"],
    });
    const said = document.getElementById("said");
    new MutationObserver(() => seeSaid(said)).observe(said, { childList: true, subtree: true });
    for (const name of ["plan", "spending"]) {
      const part = document.getElementById(name);
      new MutationObserver(() => reopen(part)).observe(part, { childList: true, subtree: true });
    }
  };
  attach();
}
