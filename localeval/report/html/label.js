// Shows one item at a time and keeps what a person says of it. All texts go into text nodes only.
addEventListener("DOMContentLoaded", () => {
  const { ids, key, show, file, words, metric, served, ...start } = JSON.parse(by("data").textContent);
  const MAX_UNDO = 1000, AGAIN_AFTER = 2000, LONG = 1200; // steps; milliseconds; characters
  const VALUES = { 1: "right", 0: "wrong", null: "unsure" };
  // What a text must not do to the page's lines: control characters, marks of direction, line ends but one.
  const HIDDEN = /(?![\n\u200c\u200d\u00ad])[\p{C}\p{Z}]/gu;
  let place = 0;
  let last = null; // id of the item that was labelled last

  // ---- elements and words -------------------------------------------------------------------------------------
  // In both languages, of which the style shows one; a value is a text, or one for each language.
  function say(name, values = {}) {
    const made = document.createDocumentFragment();
    for (const language of ["en", "zh"]) {
      const own = Object.fromEntries(Object.entries(values).map(([k, v]) => [k, v?.[language] ?? v]));
      const span = make("span", language, filled(words[language][name], own));
      span.lang = language;
      made.append(span);
    }
    return made;
  }
  function inBoth(name) { return { en: words.en[name], zh: words.zh[name] }; }
  function texts(both) { return ["en", "zh"].map((language) => { const s = make("span", language, both[language] ?? ""); s.lang = language; return s; }); }
  function isolated(text) { return make("bdi", "", shown(text)); }
  function shown(text) { return text.replace(HIDDEN, " "); }

  // ---- what is kept -------------------------------------------------------------------------------------------
  // labels: id -> {label, note, by}; without `label` where there is only a note. history: [id, what was before].
  const fresh = () => ({ labels: {}, history: [], name: null });
  let memory = fresh();
  let keeps = !served;
  function load() {
    if (!keeps) return memory;
    try {
      const text = localStorage.getItem(key);
      memory = text === null ? fresh() : { ...fresh(), ...JSON.parse(text) };
    } catch { /* what is in memory goes on */ }
    return memory;
  }
  function save(state) {
    memory = state;
    if (!keeps) return;
    try { localStorage.setItem(key, JSON.stringify(state)); } catch { keeps = false; }
  }
  function probe() {
    try {
      localStorage.setItem(`${key}/probe`, "1");
      localStorage.removeItem(`${key}/probe`);
    } catch { keeps = false; }
  }
  function entry(id, state = load()) { return state.labels[id] ?? start.known[id] ?? {}; }
  function isLabelled(id, state) { return "label" in entry(id, state); }
  function count() { const state = load(); return ids.filter((id) => isLabelled(id, state)).length; }
  function set(state, id, value) {
    if (value === null) delete state.labels[id];
    else state.labels[id] = value;
    save(state);
    send(id);
  }
  function change(id, value) {
    const state = load();
    state.history.push([id, state.labels[id] ?? null]);
    state.history.splice(0, state.history.length - MAX_UNDO);
    set(state, id, value);
  }
  function name() { return by("by").value.trim(); }

  // ---- the program that shows the page, where it does -----------------------------------------------------------
  const unsent = new Set();
  let isSending = false;
  function send(id) {
    if (!served) return;
    unsent.add(id);
    if (!isSending) sendAll();
  }
  async function sendAll() {
    isSending = true;
    while (unsent.size) {
      const [id] = unsent;
      const { label, note = "", by: who = "" } = entry(id);
      const isThere = "label" in entry(id);
      unsent.delete(id);
      const failure = await post({ id, note, by: who, is_labelled: isThere, label: label ?? null });
      by("failed").hidden = failure === "";
      if (failure) {
        unsent.add(id);
        by("failed").replaceChildren(say("save_failed"), " ", isolated(failure));
        await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER));
      }
    }
    isSending = false;
  }
  async function post(body) {
    try {
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch("label", { method: "POST", headers, body: JSON.stringify(body) });
      return answer.ok ? "" : await answer.text();
    } catch (error) { return String(error.message); }
  }

  // ---- the item -----------------------------------------------------------------------------------------------
  const read = new Map();
  function item(index) {
    if (!read.has(index)) {
      const data = JSON.parse(by(`i${index}`).textContent);
      data.sample = JSON.parse(`${data.row}}`);
      read.clear();
      read.set(index, data);
    }
    return read.get(index);
  }
  function marked(text, marks) {
    const made = make("bdi", "");
    let position = 0;
    for (const [from, to, kind] of marks) {
      made.append(shown(text.slice(position, from)), make("span", kind, shown(text.slice(from, to))));
      position = to;
    }
    made.append(shown(text.slice(position)));
    return made;
  }
  function paragraph(text, marks = []) {
    if (text === null || text === undefined) return make("p", "none", say("missing"));
    if (!text.trim()) return make("p", "none", say("empty"));
    return make("p", "text", marked(text, marks));
  }
  function field(name, text, marks) { return [make("h4", "", say(name)), paragraph(text, marks)]; }
  function textsOf(data) {
    const made = make("div", "");
    if (data.statement !== null) {
      made.append(make("h4", "", say(data.of_reference ? "statement_of_reference" : "statement")), make("p", "said", isolated(data.statement)));
    }
    made.append(...field("question", data.question));
    made.append(...field("response", data.response, data.marks.response));
    if (data.thinks) made.append(make("p", "fine", say("thinking")));
    if (data.reference !== null) made.append(...field("reference", data.reference, data.marks.reference));
    return made;
  }
  function contextsOf(data) {
    const made = make("div", "beside", make("h4", "", say("contexts")));
    const contexts = data.sample.retrieved_contexts ?? [];
    const marks = data.marks.contexts;
    if (!contexts.length) made.append(make("p", "none", say("no_context")));
    if (contexts.length && marks.some((one) => one.length)) {
      const to = make("button", "to", say("to_evidence"));
      to.type = "button";
      to.addEventListener("click", () => showEvidence(made, true));
      made.append(make("p", "fine", say(data.statement === null ? "evidence_marked_all" : "evidence_marked")));
      if (contexts.reduce((sum, text) => sum + text.length, 0) > LONG) made.append(to);
    }
    const list = make("ol", "contexts");
    contexts.forEach((text, k) => list.append(make("li", "", make("p", "head", say("context_n", { n: k + 1 })), paragraph(text, marks[k]))));
    made.append(list);
    return made;
  }
  let nextEvidence = 0;
  function showEvidence(box, isAsked) {
    const sources = box.querySelectorAll(".source");
    if (!sources.length) return;
    const source = sources[nextEvidence % sources.length];
    if (isAsked) nextEvidence++;
    scrollBoxesTo(source);
    if (isAsked) source.scrollIntoView({ block: "nearest" });
  }
  function verdictOf(data, id) {
    if (show === "never") return [];
    if (show === "after" && !isLabelled(id)) return [make("p", "fine", say("judge_hidden"))];
    const verdict = data.verdict, made = make("section", "verdict", make("h4", "", say("judge")));
    const line = make("p", "");
    if (verdict.says) line.append(make("b", `given ${verdict.says}`, say(verdict.says)), " ");
    if (verdict.value) line.append(say("judge_value", { metric, value: verdict.value, soft: verdict.soft }));
    if (data.statement === null) made.append(line, ...statementsOf(verdict));
    else made.append(line, ...checksOf(verdict.statements[0]));
    return [made];
  }
  function statementsOf(verdict) {
    if (!verdict.statements.length) return [];
    const items = verdict.statements.map((one) => make("li", "", make("p", "", isolated(one.text)), ...checksOf(one)));
    return [make("h4", "", say("statements")), make("ol", "statements", ...items)];
  }
  function checksOf(one) {
    const chip = make("span", `chip p${one.tenth}${one.yes ? "" : " no"}`, one.probability);
    const made = [make("p", "checks", chip, say(one.yes ? "supported" : "unsupported"))];
    if (one.reason) made.push(make("p", "why", make("b", "", say("reason")), " ", isolated(one.reason)));
    return made;
  }
  function word(label) { return say(label === "none" ? "unlabelled" : VALUES[label] ?? "unsure"); }
  function chip(label) { return make("b", `given ${VALUES[label] ?? ""}`, ...(label in VALUES || label === "none" ? [word(label)] : [String(label)])); }
  function peopleOf(data) {
    if (!data.people) return [];
    const table = make("table", "plain people");
    for (const [who, label, note] of data.people) table.append(make("tr", "", make("th", "", isolated(who)), make("td", "", chip(label)), make("td", "", isolated(note))));
    return [make("h4", "", say("people")), table];
  }
  function render() {
    const id = ids[place], data = item(place), mine = entry(id);
    const asked = make("div", "asked", make("h2", "", ...texts({ en: data.asks.en.question, zh: data.asks.zh.question })));
    if (isLabelled(id)) asked.append(chip(mine.label));
    asked.append(make("span", "which", say("item", { n: place + 1, all: ids.length }), " · ", isolated(data.id)));
    if (data.asks.en.definition) asked.append(make("p", "gloss", ...texts({ en: data.asks.en.definition, zh: data.asks.zh.definition })));
    const left = textsOf(data);
    left.append(make("p", "fine", say("by_these_texts")), ...peopleOf(data), ...verdictOf(data, id));
    const right = contextsOf(data);
    by("item").replaceChildren(asked, make("div", "halves", left, right));
    nextEvidence = 0;
    showEvidence(right, false);
    const top = by("item").getBoundingClientRect().top;
    if (top < 0 || (last !== null && top > innerHeight * 0.35)) by("item").scrollIntoView({ block: "start" });
    by("note").value = mine.note ?? "";
    for (const [value, button] of [[1, "right"], [0, "wrong"], [null, "unsure"]]) by(button).setAttribute("aria-pressed", String(isLabelled(id) && mine.label === value));
    by("back").disabled = place === 0;
    by("next").disabled = place === ids.length - 1;
    tell();
  }
  function tell() {
    const done = count(), state = load();
    by("progress").replaceChildren(say(done === ids.length ? "progress_done" : "progress", { done, all: ids.length }));
    by("bar").value = done;
    by("undo").disabled = !state.history.length;
    tellLast();
    if (served) return;
    by("download").replaceChildren(say("download", { n: done }));
    by("download").disabled = !done;
    by("download").classList.toggle("ready", done === ids.length);
    by("over").replaceChildren(say("start_over"));
    by("over").disabled = !Object.keys(state.labels).length;
    delete by("over").dataset.sure;
    by("kept").replaceChildren(say(keeps ? "saved_here" : "saved_nowhere"));
    by("kept").classList.toggle("alarm", !keeps);
  }
  function tellLast() {
    const index = ids.indexOf(last), hides = show === "never" || index < 0 || index === place || !isLabelled(last);
    by("last").hidden = hides;
    if (hides) return;
    const { label } = entry(last), { verdict } = JSON.parse(by(`i${index}`).textContent);
    const says = verdict.says ? inBoth(`said_${verdict.says}`) : verdict.value;
    const numbers = verdict.value && verdict.says ? ` (${verdict.soft})` : verdict.value ? "" : ` (${verdict.statements[0].probability})`;
    by("last").replaceChildren(say("last", { you: inBoth(`said_${VALUES[label] ?? "unsure"}`), judge: says }), numbers);
    if (verdict.says && label !== null && VALUES[label] !== verdict.says) by("last").append(" · ", make("b", "bad", say("differs")));
    const again = make("button", "", say("look_again"));
    again.type = "button";
    again.addEventListener("click", () => goTo(index));
    by("last").append(again);
  }

  // ---- what a person does -------------------------------------------------------------------------------------
  function goTo(index) {
    place = Math.max(0, Math.min(ids.length - 1, index));
    render();
  }
  function label(value) {
    const id = ids[place];
    change(id, { note: entry(id).note ?? "", label: value, by: name() });
    last = id;
    const state = load();
    const open = ids.map((_, k) => (place + 1 + k) % ids.length).find((k) => !isLabelled(ids[k], state));
    goTo(open ?? place);
  }
  function undo() {
    const state = load(), step = state.history.pop();
    if (!step) return;
    const [id, before] = step;
    if (last === id) last = null;
    set(state, id, before);
    goTo(ids.indexOf(id));
  }
  function note() {
    const state = load(), id = ids[place];
    set(state, id, { ...entry(id, state), note: by("note").value });
    tell();
  }
  function download() {
    const state = load();
    const lines = ids.map((id, k) => {
      const own = entry(id, state);
      if (!("label" in own)) return "";
      const { row } = JSON.parse(by(`i${k}`).textContent);
      const said = [["label", own.label], ["label_by", own.by || name()], ["label_note", own.note ?? ""]];
      return `${row}, ${said.map(([k, v]) => `${JSON.stringify(k)}: ${JSON.stringify(v)}`).join(", ")}}\n`;
    });
    const link = make("a", "");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/octet-stream" }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }
  function startOver() {
    const button = by("over");
    if (!button.dataset.sure) {
      button.dataset.sure = "1";
      button.replaceChildren(say("start_over_sure", { n: Object.values(load().labels).filter((one) => "label" in one).length }));
      return;
    }
    save({ ...fresh(), name: load().name });
    last = null;
    goTo(0);
  }
  const keys = {
    1: () => label(1), y: () => label(1), 0: () => label(0), n: () => label(0),
    "?": () => label(null), "？": () => label(null), u: () => label(null),
    z: undo, m: () => by("note").focus(),
    arrowleft: () => goTo(place - 1), arrowright: () => goTo(place + 1),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.matches("input")) {
      if (event.key === "Enter" || event.key === "Escape") event.target.blur();
      return;
    }
    const does = keys[event.key.toLowerCase()];
    if (!does) return;
    event.preventDefault();
    // A key that is held down must not label what nobody has read.
    if (!event.repeat || event.key.startsWith("Arrow")) does();
  });
  const clicks = { right: () => label(1), wrong: () => label(0), unsure: () => label(null), back: () => goTo(place - 1), next: () => goTo(place + 1), undo };
  for (const [id, does] of Object.entries(clicks)) by(id).addEventListener("click", does);
  by("note").addEventListener("input", note);
  by("by").addEventListener("input", () => save({ ...load(), name: name() }));
  addEventListener("beforeunload", (event) => {
    const isLost = served ? unsent.size > 0 : !keeps && Object.keys(memory.labels).length > 0;
    if (isLost) event.preventDefault();
  });
  // Another window of the same page labelled.
  addEventListener("storage", (event) => { if (event.key === key) render(); });

  if (served) memory.labels = start.known, start.known = {};
  else {
    probe();
    by("download").addEventListener("click", download);
    by("over").addEventListener("click", startOver);
  }
  by("by").value = load().name ?? start.by;
  by("main").hidden = false;
  goTo(Math.max(0, ids.findIndex((id) => !isLabelled(id))));
});
