// Playing an environment: pressed keys go to the server, frames come back.
"use strict";
(function () {
  const find = (id) => document.getElementById(id);
  const game = find("game");
  if (!game) return;
  const screen = find("screen"), canvas = find("canvas"), text = find("text"), note = find("note");
  const held = new Set();
  let known = new Set(), press = false, over = false, header = null, drawing = Promise.resolve();

  const socket = new WebSocket(game.dataset.socket.replace(/^/, location.origin.replace(/^http/, "ws")));
  socket.binaryType = "arraybuffer";
  const send = (data) => { if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(data)); };
  const number = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(6))));

  socket.addEventListener("message", (event) => {
    if (typeof event.data !== "string") { drawing = drawing.then(() => paint(event.data)); return; }
    const told = JSON.parse(event.data);
    if (told.ended !== undefined) { end(told.ended); return; }
    if (told.error !== undefined) { complain(told.error); return; }
    find("wrong").hidden = true;
    if (told.facts) begin(told.facts);
    header = told;
    figures(told);
    if (told.html !== undefined) {
      const parsed = new DOMParser().parseFromString(told.html, "text/html");
      text.replaceChildren(...parsed.body.childNodes);
      text.hidden = false;
      arrived();
    } else if (told.kind === "none") { note.textContent = "It draws neither images nor text; the figures show what happens."; }
  });
  socket.addEventListener("close", (event) => end(event.reason || "The session is over."));

  async function paint(bytes) {
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    if (canvas.width !== bitmap.width || canvas.height !== bitmap.height) Object.assign(canvas, { width: bitmap.width, height: bitmap.height });
    canvas.classList.toggle("small", bitmap.width < 300);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
    canvas.hidden = false;
    arrived();
  }
  function arrived() { note.hidden = true; screen.dataset.steps = String(header.steps); }

  function begin(facts) {
    known = new Set(facts.keys);
    press = !facts.fps || facts.fps < 15;
    find("space").textContent = facts.action_space;
    find("typed-action").value = facts.sample;
    find("runs").checked = !press && facts.has_noop;
    find("runs").disabled = !facts.has_noop;
    find("pad").replaceChildren(...facts.buttons.map(button));
    if (!facts.buttons.length) say("Type an action, or let it be chosen at random.");
    send({ runs: find("runs").checked });
    screen.focus({ preventScroll: true });
  }
  const names = { left: "←", right: "→", up: "↑", down: "↓", space: "space" };
  function button(one) {
    const made = document.createElement("button");
    made.type = "button";
    const keys = one.keys.map((key) => names[key] || key).join(" ");
    const kbd = document.createElement("kbd");
    kbd.textContent = keys;
    made.append(kbd, ` ${one.label}`);
    const down = (event) => { event.preventDefault(); made.classList.add("held"); one.keys.forEach((key) => hold(key, true)); };
    const up = () => { made.classList.remove("held"); one.keys.forEach((key) => hold(key, false)); };
    made.addEventListener("pointerdown", down);
    for (const name of ["pointerup", "pointerleave", "pointercancel"]) made.addEventListener(name, up);
    made.addEventListener("click", (event) => { if (event.detail === 0) send({ press: one.keys }); });  // by keyboard
    return made;
  }
  function figures(told) {
    find("steps").textContent = told.steps;
    find("total").textContent = number(told.total);
    find("reward").textContent = told.steps ? number(told.reward) : "–";
    if (told.action !== undefined) find("action").textContent = told.action;
    canvas.setAttribute("aria-label", `Frame after step ${told.steps}`);
    const ended = told.terminated || told.truncated;
    if (ended && !over) {
      find("ending").textContent = `${told.terminated ? "Terminated" : "Truncated"} after ${told.steps} steps with a return of ${number(told.total)}.`;
      window.ludus.say(find("ending").textContent);
    }
    over = ended;
    find("cover").hidden = !ended;
    legal(told.legal);
  }
  let legalNow = "";
  function legal(actions) {
    const key = actions ? actions.join() : "";
    if (key === legalNow) return;
    legalNow = key;
    find("legal-box").hidden = !actions;
    find("legal").replaceChildren(...(actions || []).map((action) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = String(action);
      made.addEventListener("click", () => send({ action }));
      return made;
    }));
  }
  function say(message) { note.textContent = message; note.hidden = false; }
  function complain(message) { const box = find("wrong"); box.textContent = message; box.hidden = false; }
  let isOver = false;
  function end(reason) {
    if (isOver) return;
    isOver = true;
    complain(`${reason} Load the page again to play on.`);
    held.clear();
  }

  function hold(key, on) {
    if (on === held.has(key)) return;
    if (on) held.add(key); else held.delete(key);
    // Where time stands still between moves, one press is one step.
    if (press && !find("runs").checked) { if (on) send({ press: [...held] }); } else send({ held: [...held] });
  }
  const name = (event) => (event.key === " " ? "space" : event.key.replace(/^Arrow/, "").toLowerCase());
  screen.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { screen.blur(); return; }
    if (event.target !== screen) return;
    if (over && event.key === "Enter") { event.preventDefault(); restart(); return; }
    const key = name(event);
    if (!known.has(key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat && press) send({ press: [...held] }); else if (!event.repeat) hold(key, true);
  });
  screen.addEventListener("keyup", (event) => hold(name(event), false));
  const release = () => { held.clear(); send({ held: [] }); };
  screen.addEventListener("blur", release);
  document.addEventListener("visibilitychange", () => { release(); send({ runs: !document.hidden && find("runs").checked }); });

  function restart() { send({ reset: true }); screen.focus({ preventScroll: true }); }
  find("again").addEventListener("click", restart);
  find("restart").addEventListener("click", restart);
  find("random").addEventListener("click", () => send({ random: true }));
  find("runs").addEventListener("change", () => send({ runs: find("runs").checked, held: [...held] }));
  find("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = find("typed-action").value.trim();
    let action = given;
    try { action = JSON.parse(given); } catch { /* a text of its own */ }
    send({ action });
  });
  setInterval(() => { if (!document.hidden) send({ here: true }); }, 60000);
})();
