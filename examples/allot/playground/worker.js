
// The worker: it runs the wasm and answers one question after the other.
{
  let ready;
  const started = new Promise(resolve => { ready = resolve; });
  self.allotReady = () => ready();
  self.onmessage = async event => {
    const m = event.data;
    try {
      if (m.module) {
        const go = new Go();
        go.run(await WebAssembly.instantiate(m.module, go.importObject)).then(() => self.postMessage({ ended: true }));
        await started;
        self.postMessage({ ready: true });
        return;
      }
      const answer = self.allotAsk(m.question);
      self.postMessage(typeof answer === "string" ? { id: m.id, answer } : { id: m.id, ended: true });
    } catch (e) {
      self.postMessage({ id: m.id, failed: String(e && e.message || e) });
    }
  };
}
