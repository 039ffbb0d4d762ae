// Runs once the page is built. Every update replaces the whole workbench, so the state of its
// widgets (opened, scrolled, selected) is saved here and restored.
() => {
  const opened = new Set();
  const scrolled = new Map();
  const root = document.documentElement;
  let lastPhase = "";
  let waited = "";  // the question that the shown run waits for
  let starting = false;  // a run was requested whose id is not known yet
  let followed = false;  // a run was in progress since the page was loaded

  // A visitor who opens a run's link or a question sees it first, unless they have done something.
  const linked = new URLSearchParams(location.search).has("run");
  let arriving = true;
  for (const kind of ["pointerdown", "keydown", "wheel", "touchstart"]) {
    addEventListener(kind, () => { arriving = false; }, { capture: true, passive: true });
  }

  // The selected tab, the selected program (null: the leading one), the program it is compared with,
  // and the open cell of each row. They are reset for a new run.
  let look = { run: "", tab: "", at: null, against: "original", cells: new Map() };

  const setDark = (dark) => document.body.classList.toggle("dark", dark);
  try {
    const saved = localStorage.getItem("heal-theme");
    const asked = new URLSearchParams(location.search).get("__theme");
    if (saved && !asked) setDark(saved === "dark");
  } catch (error) {
    console.info("the saved theme cannot be read:", error.message);
  }

  const press = (name) => document.querySelector("button#" + name).click();

  // Follows a run that was answered in another tab. One answered here is followed already.
  window.movedOn = (from) => setTimeout(() => { if (waited === from) press("follow"); }, 400);

  const reopen = (part) => {
    for (const item of part.querySelectorAll("details[data-key]")) {
      if (opened.has(item.dataset.key)) item.open = true;
    }
    for (const line of part.querySelectorAll("button.fold")) unfold(line, opened.has(line.dataset.key));
  };

  // Rows of a table that are folded into one line.
  const unfold = (line, open) => {
    line.setAttribute("aria-expanded", String(open));
    line.closest("tbody").nextElementSibling.hidden = !open;
  };

  // Whether the top of a part is visible without scrolling.
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
      for (const part of all(inside, "[data-seen]")) part.hidden = part.dataset.seen !== open;
      // The Tab key stops once in each row: at the open cell, or the last.
      const stop = cells.find((cell) => cell.dataset.cell === open) || cells[cells.length - 1];
      if (stop) stop.tabIndex = 0;
    }
  };

  // Unfinished replies of models are sent separately from the workbench.
  const showWriting = (bench) => {
    for (const pre of all(bench, "pre.writing")) {
      const said = document.querySelector(`#writing [data-call="${pre.dataset.call}"]`);
      const text = said ? said.textContent : "";
      if (pre.textContent === text) continue;
      pre.textContent = text;
      pre.scrollTop = pre.scrollHeight;
    }
  };

  // The focused element is replaced with the workbench; its successor gets the focus.
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
    // The requested run did not start, and the result for the earlier input is shown again.
    if (starting && phase === "finished" && run === before && !asIs) {
      bench.classList.add("stale");
      draft = true;
    }
    if (phase === "running" && run && run !== before) other = false;
    starting = phase === "running" && !run;
    if (phase === "running") {
      if (lastPhase !== "running") pingSoon();
      followed = true;
      bench.classList.remove("stale");
    }
    const first = arriving && scrollY === 0 && (linked || phase === "waiting");
    const turned = phase !== lastPhase && !["", "empty"].includes(phase)
      && (lastPhase !== "" || starting || first);
    if (turned && !inView(bench, bench.querySelector(".status") || bench)) bench.scrollIntoView({ block: "start" });
    // On a small screen the examples below a result are far from the fields that they fill in.
    if (turned && !lastPhase && innerWidth <= 800) document.querySelector("#cards details").open = false;
    lastPhase = phase;
    const waits = (inner && inner.dataset.waits) || "";
    if (waits && waits !== waited) press("linger");
    waited = waits;
    const clock = bench.querySelector(".clock");
    // A tick changes the workbench too; only another elapsed time restarts the count.
    if (clock && clock.dataset.from !== clock.dataset.elapsed) {
      clock.dataset.from = clock.dataset.elapsed;
      clock.dataset.since = performance.now();
    }
    tick();
  };

  const tick = () => {
    const clock = document.querySelector("#bench .clock");
    if (!clock || isAway()) return;
    const since = (performance.now() - Number(clock.dataset.since || performance.now())) / 1000;
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
        console.info("the theme cannot be saved:", error.message);
      }
    }
  });

  // Replacing the fields needs a confirmation if they were edited since the last run, and clears the
  // chosen files, which would otherwise be healed instead.
  let draft = false;
  let other = false;  // the fields differ from the input of the shown run
  let asIs = true;  // they did not when Heal was pressed
  const FIELDS = ["#code .cm-content", "#tests .cm-content", "#words textarea"];
  const textOf = (one) => one && (one.value || (one.innerText || "").trim());
  const holds = (...fields) => fields.some((one) => textOf(document.querySelector(one)));
  const CONFIRM_REPLACE = "The fields contain changes that you have not run yet. Replace them?";
  // Files replace a program, its tests and its words. Tests without a program stay.
  window.mayClear = () => {
    window.cleared = holds(FIELDS[0], FIELDS[2]);
    if (window.cleared && draft && !confirm(CONFIRM_REPLACE)) return false;
    if (window.cleared) draft = false;
    return true;
  };
  document.addEventListener("click", (event) => {
    const pressed = (selector) => event.target.closest && event.target.closest(selector);
    if (pressed("button#heal")) {
      asIs = !other;
      draft = false;
      picked.at = 0;  // the server knows the chosen example
      document.querySelector("#files:has(.unsend[hidden]) .sent")?.replaceChildren();
    }
    if (!pressed("button.use, #bench [data-act=open], [data-example]")) return;
    if (draft && holds(...FIELDS) && !confirm(CONFIRM_REPLACE)) {
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
      "The files were cleared. The next run uses the editor.";
  }, true);

  // Input typed after the end of a run differs from the input of its result.
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

  // Arrow keys move between tabs, and in a row of the table of tests.
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
      // An editor would insert a new line, also while a run is in progress.
      event.preventDefault();
      event.stopPropagation();
      if (!heal.disabled) {
        // An editor sends its text when it loses the focus; the focus is restored afterwards.
        const typing = document.activeElement;
        if (typing) typing.blur();
        setTimeout(() => {
          heal.click();
          if (typing) typing.focus({ preventScroll: true });
        }, 60);
      }
    }
  }, true);

  // Scrolls once to a question of the followed run, or of a run opened by its link.
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

  // Scrolls to an error message, which may be out of view.
  const seeSaid = (said) => {
    const error = said.querySelector("[role=alert]");
    if (error && error.textContent.trim() && !inView(error)) error.scrollIntoView({ block: "center" });
  };

  // The message about a server that cannot be reached.
  const away = document.createElement("p");
  away.id = "away";
  away.setAttribute("role", "alert");
  document.body.append(away);
  let since = "";
  let full = "";  // the message of a server that temporarily accepts no requests
  let polling = 0;
  const GONE = "The server does not answer. Your run is saved and continues when the server is back. " +
    "Leave this page open: it reconnects by itself.";
  // A Stop that could not be sent is sent when the server is back, also after a reload.
  let stopped = 0;
  const pendingStop = (run) => {
    try {
      if (run === undefined) return sessionStorage.getItem("heal-stop") || "";
      sessionStorage.setItem("heal-stop", run);
    } catch (error) {
      console.info("a pending stop cannot be saved:", error.message);
    }
    return "";
  };
  let picked = { example: "", at: 0 };
  let chosen = "";  // an example whose choice could not be sent
  const isAway = () => away.textContent.startsWith(GONE);
  const sayAway = (text) => {
    const stop = text === GONE && pendingStop() ? " Then it stops your run." : "";
    const then = stop + (text === GONE && chosen ? " Then it runs the example that you chose." : "");
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
    if (isAway()) pendingStop(look.run);
    if (isAway()) sayAway(GONE);
  }, true);
  const stopAgain = () => {
    const stop = document.querySelector("button#stop");
    if (!pendingStop() || isAway() || !stop || stop.disabled || pendingStop() !== look.run) return;
    pendingStop("");
    press("stop");
  };
  setInterval(stopAgain, 500);

  // Gradio does not report a server that is full, and reports one that is gone only late.
  const pingNow = () => {
    if (Date.now() - stopped < 3000) pendingStop(look.run);
    if (Date.now() - picked.at < 3000) chosen = picked.example;
    clearTimeout(polling);
    ping();
  };
  const fetched = window.fetch;
  window.fetch = async (...given) => {
    const asked = String((given[0] && given[0].url) || given[0]);
    const own = asked.includes("gradio_api/");
    const isPost = own && ((given[1] && given[1].method) || "") === "POST";
    let answer;
    try {
      answer = await fetched(...(own ? inSession(given) : given));
    } catch (error) {
      if (own && error.name !== "AbortError") pingNow();
      if (error.name !== "AbortError" && asked.includes("queue/data?")) return refused();
      if (!isPost || error.name === "AbortError") throw error;
      return Response.json({ error: CUT_OFF, detail: CUT_OFF }, { status: 500 });
    }
    if (answer.status === 429) {
      answer.clone().json().then(({ detail }) => {
        full = detail;
        sayAway(full);
        const wait = Number(answer.headers.get("retry-after")) || 60;
        setTimeout(() => {
          full = "";
          sayAway("");
          // The open panel could not be loaded.
          const again = [...document.querySelectorAll("[id$=-again]")]
            .find((button) => button.parentElement.offsetParent);
          if (again) again.click();
          pingSoon();
        }, wait * 1000);
      }, () => {});
    }
    return asked.includes("queue/data?") ? whole(answer) : answer;
  };

  // If a stream is refused or broken off, for example by a proxy, Gradio disconnects the page for
  // good. This code ends such a stream regularly, reports its open calls as failed, and follows the
  // run again in a new session, because the server may delete the broken one at any time.
  const CUT_OFF = "The connection was lost, and your last action may not have been received. Check " +
    "the page, then try again.";
  const ENDS = [
    { msg: "process_completed", success: false, output: { error: "", visible: false } },
    { msg: "close_stream" },
  ].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  let broken = 0;  // number of broken streams
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
  // The server is full, or cannot be reached, or the connection was lost before the answer.
  const refused = () => {
    broken += 1;
    unfollowed = true;
    setTimeout(pingNow, 1000);
    return new Response(ENDS, { headers: { "content-type": "text/event-stream" } });
  };
  const whole = (answer) => {
    if (!answer.ok) return refused();
    const started = performance.now();
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let tail = "";
    const endStream = (to) => {
      broken += 1;
      unfollowed = true;
      to.enqueue(new TextEncoder().encode(`\n\n${ENDS}`));
      to.close();
      const isShort = performance.now() - started < 1000;
      setTimeout(pingNow, isShort ? 1000 : 0);
    };
    const pull = async (to) => {
      try {
        const { done, value } = await reader.read();
        if (done) return tail.includes('"close_stream"') ? to.close() : endStream(to);
        tail = (tail + decoder.decode(value, { stream: true })).slice(-300);
        if (tail.includes('"session_not_found":true')) return endStream(to);
        to.enqueue(value);
      } catch (error) {
        if (error.name === "AbortError") to.error(error);
        else endStream(to);
      }
    };
    return new Response(new ReadableStream({ pull, cancel: (why) => reader.cancel(why) }), answer);
  };
  const ping = async () => {
    let reachable = true;
    let started = since;
    try {
      const answer = await fetch("healthz", { cache: "no-store" });
      reachable = answer.status !== 502 && answer.status !== 504;
      if (answer.ok) started = (await answer.json().catch(() => ({}))).since || since;
    } catch (error) {
      reachable = document.visibilityState === "hidden";
    }
    const restarted = reachable && since && started !== since;  // its page may have changed
    const back = reachable && (restarted || isAway() || unfollowed);
    const active = back && !full && ["running", "waiting"].includes(lastPhase);
    since = started;
    if (active && restarted) return location.reload();
    sayAway(reachable ? full : GONE);
    if (reachable && !full) unfollowed = false;
    if (active) press("follow");
    if (reachable && chosen) chooseAgain();
    clearTimeout(polling);
    polling = setTimeout(ping, reachable && lastPhase !== "running" ? 10000 : 1500);
  };
  const pingSoon = () => {
    clearTimeout(polling);
    polling = setTimeout(ping, 1500);
  };
  pingSoon();

  // The editors' colours are made for one theme each. This keeps their hue, and adapts the lightness
  // to the theme of the page.
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
        if (editor) editor.tabIndex = 0;  // long text scrolls
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
