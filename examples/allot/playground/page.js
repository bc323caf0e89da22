(() => {
  "use strict";
  const $ = id => document.getElementById(id);
  const data = id => JSON.parse($(id).textContent);
  const examples = data("examples"), tabs = [...document.querySelectorAll("[role=tab]")];
  const seconds = 20, mostShared = 1 << 20, mostLink = 200000;
  const say = text => { $("state").textContent = text; };
  let view = "plan", workload = "", queue = "", frame = null, address = null;

  // The wasm is compiled once. The worker that runs it is ended when it takes too long,
  // or has no memory left, and another one takes its place.
  const module = (async () => {
    const text = data("wasm");
    $("wasm").remove();
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return WebAssembly.compile(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  })();
  const code = URL.createObjectURL(new Blob([data("worker")], { type: "text/javascript" }));
  let worker = null, starting = null, number = 0, asked = null;
  const end = () => { if (worker) worker.terminate(); worker = starting = null; };
  const start = async () => {
    const w = worker = new Worker(code);
    await new Promise((resolve, reject) => {
      w.onmessage = e => e.data.ready ? resolve() : reject(new Error(e.data.failed || "it ended"));
      w.onerror = e => reject(new Error(e.message));
      module.then(m => w.postMessage({ module: m }), reject);
    });
    w.onmessage = e => { if (asked && (e.data.ended || e.data.failed || e.data.id === asked.id)) asked.done(e.data); };
    w.onerror = () => { if (asked) asked.done({ ended: true }); };
  };
  const question = async q => {
    if (asked) { end(); asked.done({ overtaken: true }); }
    const id = ++number;
    await (starting ??= start());
    if (id !== number) return { overtaken: true };
    return new Promise(resolve => {
      const late = setTimeout(() => asked && asked.done({ late: true }), seconds * 1000);
      asked = { id, done: d => { clearTimeout(late); asked = null; resolve(d); } };
      worker.postMessage({ id, question: JSON.stringify(q) });
    });
  };

  const problem = text => { $("problem").hidden = !text; $("problem").textContent = text || ""; };
  const show = a => {
    problem(a.problem);
    if (frame) { frame.remove(); frame = null; }
    if (address) { URL.revokeObjectURL(address); address = null; }
    $("answer").hidden = !a.text;
    $("answer").replaceChildren(...(a.text || "").split("\n").map(line => {
      const div = document.createElement("div"), content = line.trimStart();
      const table = content.includes("  ") && !content.includes(": ") || view === "scenario" || view === "shares" && content.includes("  ");
      div.className = table ? "row" : "i" + Math.min(line.length - content.length, 12);
      div.textContent = table ? line : content;
      return div;
    }));
    if (a.html) {
      address = URL.createObjectURL(new Blob([a.html], { type: "text/html" }));
      frame = document.createElement("iframe");
      frame.title = view;
      frame.setAttribute("sandbox", "allow-scripts");
      frame.src = address;
      $("out").append(frame);
    }
    choose($("workload"), a.workloads, workload, "");
    choose($("queue"), a.queues, queue, "no queue");
  };
  const choose = (select, names, chosen, none) => {
    if (!names) return;
    if (none) names = [none, ...names];
    select.replaceChildren(...names.map((n, i) => new Option(n, none && i === 0 ? "" : n)));
    select.value = names.includes(chosen) || none && chosen === "" ? chosen : names[0] || "";
  };
  let waiting = 0;
  const ask = async () => {
    clearTimeout(waiting);
    say("Working…");
    document.documentElement.dataset.busy = "yes";
    const begin = performance.now();
    let d;
    try {
      d = await question({ text: $("text").value, view, workload, queue, edits: $("edits").value });
    } catch (e) {
      end();
      d = { failed: e.message };
    }
    if (d.overtaken) return;
    if (d.late || d.ended || d.failed) {
      end();
      show({ problem: d.late ? `That took longer than ${seconds} seconds, and was ended.` : `The library ended (${d.failed || "no memory left, of 512 MiB"}); the next question starts it anew.` });
    } else show(JSON.parse(d.answer));
    say(`${Math.round(performance.now() - begin)} ms, in this browser; nothing was sent anywhere`);
    delete document.documentElement.dataset.busy;
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(ask, 400); };
  const turn = (to, focus) => {
    view = to;
    for (const t of tabs) {
      const on = t.dataset.view === view;
      t.setAttribute("aria-selected", on);
      t.tabIndex = on ? 0 : -1;
      if (on && focus) t.focus();
    }
    for (const e of document.querySelectorAll("[data-for]")) e.hidden = e.dataset.for !== view;
  };

  // A link holds the text, the view and the changes, compressed, behind its #, which no
  // server sees.
  const through = async (bytes, stream, most) => {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
    for (let size = 0; ;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > most) { await reader.cancel(); throw new Error("the link holds too much"); }
      parts.push(value);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  };
  const shared = async () => {
    const text = new TextEncoder().encode(JSON.stringify({ text: $("text").value, view, edits: $("edits").value, workload, queue }));
    const packed = await through(text, new CompressionStream("deflate-raw"), mostShared * 2);
    let letters = "";
    for (const b of packed) letters += String.fromCharCode(b);
    return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const opened = async () => {
    const hash = location.hash.slice(1);
    if (!hash) return false;
    if (hash.length > mostLink) throw new Error("the link is too long");
    const letters = atob(hash.replaceAll("-", "+").replaceAll("_", "/"));
    const text = await through(Uint8Array.from(letters, c => c.charCodeAt(0)), new DecompressionStream("deflate-raw"), mostShared);
    const m = JSON.parse(new TextDecoder().decode(text)), string = v => typeof v === "string" ? v : "";
    $("text").value = string(m.text);
    $("edits").value = string(m.edits).slice(0, 16000);
    workload = string(m.workload);
    queue = string(m.queue);
    turn(tabs.some(t => t.dataset.view === m.view) ? m.view : "plan");
    return true;
  };
  const take = i => { $("text").value = examples[i].text; workload = queue = ""; };
  const open = async () => {
    let told = "";
    try {
      if (!await opened()) { take(0); turn("plan"); }
    } catch (e) {
      take(0);
      turn("plan");
      told = "The link cannot be opened: " + e.message + ". ";
    }
    await ask();
    if (told) problem(told + $("problem").textContent);
  };

  $("example").addEventListener("change", e => { take(+e.target.value); history.replaceState(null, "", location.pathname + location.search); ask(); });
  $("text").addEventListener("input", soon);
  $("edits").addEventListener("input", soon);
  $("workload").addEventListener("change", e => { workload = e.target.value; ask(); });
  $("queue").addEventListener("change", e => { queue = e.target.value; ask(); });
  for (const t of tabs) t.addEventListener("click", () => { turn(t.dataset.view); ask(); });
  document.querySelector("[role=tablist]").addEventListener("keydown", e => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const at = tabs.findIndex(t => t.dataset.view === view);
    turn(tabs[(at + step + tabs.length) % tabs.length].dataset.view, true);
    ask();
  });
  $("link").addEventListener("click", async () => {
    const hash = await shared();
    if (hash.length > mostLink) { say("This is too large for a link"); return; }
    history.replaceState(null, "", location.pathname + location.search + "#" + hash);
    try {
      await navigator.clipboard.writeText(location.href);
      say("Copied: the link holds all of it");
    } catch { say("The address of this page now holds all of it"); }
  });
  addEventListener("hashchange", open);
  open();
})();
