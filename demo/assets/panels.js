// Refuses large pastes, shares links, replays runs and chooses the files of a healed project.
() => {
  const MOST = MAX_PASTED;
  const counted = (number) => number.toLocaleString("en");

  // A page without https has no clipboard access, so a selection is copied.
  window.copied = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("copying is not allowed here");
  };

  // Shows a message on a button for a moment.
  window.tell = (button, words) => {
    button.dataset.label = button.dataset.label || button.textContent;
    button.textContent = words;
    clearTimeout(button.resetTimer);
    button.resetTimer = setTimeout(() => { button.textContent = button.dataset.label; }, 2500);
  };

  const refuse = (words) => {
    const said = document.getElementById("said");
    let shown = document.getElementById("too-large");
    if (!shown) {
      shown = document.createElement("div");
      shown.id = "too-large";
      shown.className = "sentence";
      shown.setAttribute("role", "alert");
      said.before(shown);
    }
    shown.innerHTML = '<b aria-hidden="true">!</b><p></p>';
    shown.lastChild.textContent = words;
  };

  const checkSize = (event, text) => {
    const shown = document.getElementById("too-large");
    if (shown) shown.remove();
    if (text.length <= MOST) return;
    event.preventDefault();
    event.stopPropagation();
    refuse(`The text has ${counted(text.length)} characters; at most ${counted(MOST)} are allowed. `
      + "Paste only the part that fails, or choose files.");
  };
  // An editor would render all of the text, so this runs before it.
  document.addEventListener("paste", (event) => {
    if (event.target.closest && event.target.closest("#editors")) {
      checkSize(event, event.clipboardData.getData("text/plain"));
    }
  }, true);
  document.addEventListener("drop", (event) => {
    if (event.target.closest && event.target.closest("#code, #tests, #words")) {
      const file = event.dataTransfer.files[0];
      if (file && file.size > MOST) {
        event.preventDefault();
        event.stopPropagation();
        refuse(`${file.name} has ${counted(file.size)} bytes; at most ${counted(MOST)} are allowed. `
          + "Drop a smaller file.");
      } else if (!file) checkSize(event, event.dataTransfer.getData("text/plain"));
    }
  }, true);

  // Scrolls to the result of a button in the list of runs, and focuses it.
  const reveal = (act, until) => {
    const name = act === "replay" ? "replay-at" : "replayed";
    const part = document.querySelector(
      act === "replay" ? "#replay-at input[type=range]" : "#replayed .two-runs"
    );
    if (part && part.offsetParent) {
      document.getElementById(name).scrollIntoView({ block: "start" });
      if (act === "compare") part.tabIndex = -1;
      part.focus({ preventScroll: true });
    } else if (performance.now() < until) requestAnimationFrame(() => reveal(act, until));
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("#runs-list [data-act]");
    const act = button ? button.dataset.act : "";
    if (act === "replay" || act === "compare") reveal(act, performance.now() + 10000);
  });

  // The states of a run are loaded once, so that dragging the slider needs no request. The server has
  // escaped untrusted text in the HTML.
  let replay = { of: null, moments: [] };
  const fetched = async (home) => {
    const { run, count } = home.dataset;
    const answer = await fetch(`gradio_api/heal/${run}/moments`);
    if (!answer.ok) throw new Error(await answer.text());
    const { pieces, moments } = await answer.json();
    let now = [];
    return moments.slice(0, Number(count)).map((changes) => {
      now = now.slice();
      for (const [place, piece] of Object.entries(changes)) now[place] = pieces[piece];
      return now;
    });
  };
  const show = (home, [colours, event, verdict, patch, tests, ...steps]) => {
    const was = home.shown || [];
    const bench = home.querySelector(".bench");
    if (was[0] !== colours) bench.className = `bench ${colours}`;
    const parts = [home.querySelector(".moment-shown"), ...home.querySelectorAll("[data-part]")];
    [event, verdict, patch, tests].forEach((piece, place) => {
      if (was[place + 1] !== piece) parts[place].innerHTML = piece;
    });
    const list = home.querySelector(".timeline ol");
    const count = list.children.length;
    while (list.children.length > steps.length) list.lastChild.remove();
    steps.forEach((step, place) => {
      if (place >= list.children.length) list.insertAdjacentHTML("beforeend", step);
      else if (was[place + 5] !== step) list.children[place].outerHTML = step;
    });
    if (steps.length !== count) list.closest(".scroll").scrollTop = list.scrollHeight;
    home.shown = [colours, event, verdict, patch, tests, ...steps];
  };
  window.replayAt = async (at) => {
    const home = document.querySelector("#replayed .replay");
    if (!home) return;
    home.wanted = at;
    if (replay.of !== home) replay = { of: home, moments: fetched(home) };
    try {
      const moments = await replay.moments;
      if (home.wanted === at) show(home, moments[Math.min(Math.max(at, 1), moments.length) - 1]);
    } catch (error) {
      setTimeout(() => { replay = { of: null, moments: [] }; }, 2000);  // allows a retry
      home.querySelector(".moment-shown").textContent =
        `The run cannot be replayed: ${error.message} Try again.`;
    }
  };

  // Chooses a healed project, including its tests, as the files for the next run.
  const choose = async (button) => {
    const { run } = button.closest("[data-run]").dataset;
    const answer = await fetch(`gradio_api/heal/${run}/healed`);
    if (!answer.ok) return window.tell(button, "The files were deleted");
    const chosen = new DataTransfer();
    chosen.items.add(new File([await answer.blob()], `healed-${run.slice(0, 8)}.zip`));
    const input = document.querySelector("#files input");
    input.files = chosen.files;
    input.dispatchEvent(new Event("change"));
    document.getElementById("files").scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("click", (event) => {
    const use = event.target.closest && event.target.closest("button.use-files");
    if (use) choose(use).catch((error) => window.tell(use, `Failed: ${error.message}`));
  });

  document.addEventListener("click", (event) => {
    const share = event.target.closest && event.target.closest("button.share");
    if (!share) return;
    window.copied(location.href.split("#")[0]).then(
      () => window.tell(share, "Link copied"),
      () => window.tell(share, "Copy the address above"),
    );
  });
}
