// Shows the list of all samples a page at a time. Its texts go into text nodes only. The one thing that is parsed
// as HTML is what this page holds for readers without script, where every text is escaped already.
addEventListener("DOMContentLoaded", () => {
  const PAGE = 50, FLAGGED = 1, SPLIT = 2, FIRST = 5; // the place of the first score in a row
  const SHOWN = 0.0005; // scores have three decimals, which are no exact numbers here
  const { metrics, lower, reasons } = JSON.parse(by("data").textContent);
  const rows = JSON.parse(by("rows").textContent);
  const body = by("list").tBodies[0];
  const start = { sort: null, down: false, page: 0 };
  let state = { ...start };
  let found = [];
  let haystacks = null;

  function isolated(text) { return make("bdi", "", text); }
  function words(key) {
    const kept = by("words").content.querySelector(`[data-key="${key}"]`);
    return kept.cloneNode(true);
  }

  function folded(text) { return text.replace(/\s+/g, " ").toLowerCase(); }
  function haystack(i) {
    haystacks ??= rows.map((row) => folded(`${row[1]}\n${row[2]}\n${row[3]}`));
    return haystacks[i];
  }
  function inRange(row, low, high) {
    const chosen = by("metric").value;
    const scores = chosen === "any" ? row.slice(FIRST) : [row[FIRST + Number(chosen)]];
    return scores.some((s) => Array.isArray(s) && s[0] >= low - SHOWN && s[0] <= high + SHOWN);
  }
  function hasStatus(row, wanted) {
    if (wanted === "all") return true;
    if (wanted === "flagged") return Boolean(row[4] & FLAGGED);
    if (wanted === "split") return Boolean(row[4] & SPLIT);
    const scores = row.slice(FIRST);
    if (wanted === "scored") return scores.every(Array.isArray);
    return scores.some((s) => !Array.isArray(s) && reasons[s][0] === wanted);
  }
  function choose() {
    const text = folded(by("text").value.trim()), wanted = by("status").value;
    const read = (id, other) => (by(id).value === "" ? other : Number(by(id).value));
    const low = read("from", 0), high = read("to", 1);
    const ranged = low > 0 || high < 1;
    found = [];
    for (let i = 0; i < rows.length; i++) {
      if (!hasStatus(rows[i], wanted) || (ranged && !inRange(rows[i], low, high))) continue;
      if (text && !haystack(i).includes(text)) continue;
      found.push(i);
    }
    if (state.sort !== null) found.sort(order);
  }
  function order(a, b) {
    const sign = state.down ? -1 : 1;
    if (state.sort === "place") return sign * (rows[a][0] - rows[b][0]);
    if (state.sort === "id") return sign * rows[a][1].localeCompare(rows[b][1], undefined, { numeric: true });
    const one = rows[a][FIRST + Number(state.sort)], other = rows[b][FIRST + Number(state.sort)];
    if (!Array.isArray(one) || !Array.isArray(other)) return Array.isArray(other) - Array.isArray(one) || a - b;
    return sign * (one[0] - other[0] || one[1] - other[1]) || a - b;
  }

  function cell(row, k) {
    const score = row[FIRST + k], made = make("td", "num");
    made.append(make("span", "metric-name", metrics[k], " "));
    if (Array.isArray(score)) {
      const good = lower[k] ? 1 - score[0] : score[0];
      const chip = make("span", `chip p${Math.max(0, Math.min(9, Math.floor(good * 10)))}`, score[0].toFixed(3));
      const soft = make("span", "soft", words("soft"), " ", score[1].toFixed(3));
      made.append(chip, soft);
    } else {
      const [status, reason] = reasons[score];
      made.append(make("span", "why", words(status), make("br"), make("bdi", "code", reason)));
    }
    return made;
  }
  function line(i) {
    const row = rows[i], name = make("b", "", isolated(row[1])), brief = make("span", "brief", isolated((row[2] || row[3]).slice(0, 200)));
    const opener = make("button", "opener", name);
    opener.type = "button";
    opener.setAttribute("aria-expanded", "false");
    if (row[4] & FLAGGED) opener.append(" ", make("small", "tag bad", "⚠ ", words("attack")));
    if (row[4] & SPLIT) opener.append(" ", make("small", "tag bad", "≠ ", words("split")));
    opener.append(brief);
    const made = make("tr", "row", make("td", "num place", String(row[0])), make("td", "what", opener));
    metrics.forEach((_, k) => made.append(cell(row, k)));
    opener.addEventListener("click", () => toggle(i, made, opener));
    return made;
  }
  function details(i) {
    const kept = by(`n${i}`);
    const parsed = kept && new DOMParser().parseFromString(kept.textContent, "text/html").querySelector(".body");
    return parsed ? document.adoptNode(parsed) : make("p", "fine", words("no_details"));
  }
  function toggle(i, row, opener) {
    const open = opener.getAttribute("aria-expanded") !== "true";
    opener.setAttribute("aria-expanded", String(open));
    if (!open) return row.nextElementSibling.remove();
    const td = make("td", "", details(i));
    td.colSpan = 2 + metrics.length;
    row.after(make("tr", "detail", td));
  }
  function show() {
    const first = state.page * PAGE, last = Math.min(found.length, first + PAGE);
    body.replaceChildren(...found.slice(first, last).map(line));
    all(".previous").forEach((b) => { b.disabled = state.page === 0; });
    all(".next").forEach((b) => { b.disabled = last >= found.length; });
    all("#list thead th").forEach((th) => {
      const mine = th.querySelector("button").dataset.sort === state.sort;
      th.setAttribute("aria-sort", mine ? (state.down ? "descending" : "ascending") : "none");
    });
    say();
  }
  function say() {
    const place = by("found").dataset, chinese = root.lang === "zh", first = state.page * PAGE;
    const text = found.length ? (chinese ? place.foundZh : place.foundEn) : (chinese ? place.noneZh : place.noneEn);
    const shown = (number) => number.toLocaleString("en");
    const values = { from: shown(first + 1), to: shown(Math.min(found.length, first + PAGE)), n: shown(found.length) };
    by("found").textContent = filled(text, values);
  }
  function refresh() { state.page = 0; choose(); show(); }
  function turn(pages) { state.page += pages; show(); by("samples").scrollIntoView(); }
  function reset() {
    state = { ...start };
    by("text").value = ""; by("status").value = "all"; by("metric").value = "any";
    by("from").value = "0"; by("to").value = "1";
    refresh();
  }

  for (const id of ["text", "status", "metric", "from", "to"]) by(id).addEventListener("input", refresh);
  by("reset").addEventListener("click", reset);
  all(".previous").forEach((b) => b.addEventListener("click", () => turn(-1)));
  all(".next").forEach((b) => b.addEventListener("click", () => turn(1)));
  all("#list thead button").forEach((b) => b.addEventListener("click", () => {
    const same = state.sort === b.dataset.sort;
    state = { sort: b.dataset.sort, down: same && !state.down, page: 0 };
    choose(); show();
  }));
  all(".show").forEach((b) => {
    b.hidden = false;
    b.addEventListener("click", () => { reset(); by("status").value = b.dataset.status; refresh(); by("samples").scrollIntoView(); });
  });

  // A statement points at its sentence and its evidence.
  let lit = [];
  function light(target, scroll) {
    const statement = target instanceof Element && target.closest("[data-to]");
    lit.forEach((e) => e.classList.remove("lit"));
    lit = statement ? statement.dataset.to.trim().split(" ").map(by).filter(Boolean) : [];
    lit.forEach((e) => e.classList.add("lit"));
    const source = lit.find((e) => e.classList.contains("source"));
    if (source) {
      scrollBoxesTo(source);
      if (scroll && source.getBoundingClientRect().top > innerHeight) source.scrollIntoView({ block: "nearest" });
    }
  }
  document.addEventListener("mouseover", (event) => light(event.target, false));
  document.addEventListener("focusin", (event) => light(event.target, true));

  // Behind the switch itself, which tools.js added first.
  by("language").addEventListener("click", say);
  by("browser").hidden = false;
  choose();
  show();
});
