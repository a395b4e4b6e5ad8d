import { busy, call, chart, element, fill, localTime, number, show, signedIn, small } from "/page/shared.js";

const by = (id) => document.getElementById(id);
const LATEST = 200;  // lines of the audit log that are shown
let me = null;

async function acting(button, work) {
  await busy(button, async () => {
    try {
      show(by("note"), "", "");
      await work();
      await refresh();
    } catch (error) {
      show(by("note"), error.message);
      by("note").scrollIntoView({ block: "nearest" });
    }
  });
}

function decision(session) {
  if (!pending(session)) return element("span", { text: session.note || "" });
  const path = `/v1/sessions/${encodeURIComponent(session.id)}/decision`;
  const decide = (approve) => (event) => acting(event.target, () => call("POST", path, { approve }));
  return element("span", {},
    element("button", { class: "main", type: "button", text: "Approve", "aria-label": `Approve ${session.id}`, onclick: decide(true) }),
    element("button", { class: "bad", type: "button", text: "Refuse", "aria-label": `Refuse ${session.id}`, onclick: decide(false) }));
}

function showToken({ name, token }) {
  show(by("token"), `Token of ${name}, shown this once: ${token}`, "good mono");
}

function tokenButtons(person) {
  const path = `/v1/people/${person.name}`;
  const renew = (event) => acting(event.target, async () => showToken(await call("POST", `${path}/token`)));
  const revoke = (event) => acting(event.target, () => call("DELETE", path));
  const buttons = [element("button", { type: "button", text: "New", "aria-label": `New token for ${person.name}`, onclick: renew })];
  if (person.active && person.name !== me.name)
    buttons.push(element("button", { class: "bad", type: "button", text: "Revoke", "aria-label": `Revoke ${person.name}`, onclick: revoke }));
  return element("span", {}, ...buttons);
}

function limits(person) {
  if (person.role !== "analyst") return "";
  const parts = [];
  if (person.epsilon !== null) parts.push(`epsilon ${small(person.epsilon)}`);
  if (person.delta) parts.push(`delta ${small(person.delta)}`);
  if (person.queries !== null) parts.push(`${number(person.queries)} queries`);
  const graphs = person.graphs === null ? "" : `; graphs: ${person.graphs.join(", ")}`;
  return (parts.join(", ") || "none") + (person.preapproved ? "; preapproved" : "") + graphs;
}

function showPeople(people) {
  fill(by("people"), people.map((person) => [person.name + (person.active ? "" : " (revoked)"), person.role, limits(person), tokenButtons(person)]));
  const analysts = people.filter((person) => person.role === "analyst");
  for (const id of ["grant-reader", "grant-analyst"]) {
    const selected = by(id).value;
    by(id).replaceChildren(...analysts.map((person) => element("option", { text: person.name, selected: person.name === selected })));
  }
  const grants = people.flatMap((person) => person.reads.map((analyst) => `${person.name} reads ${analyst}'s`));
  by("grants").textContent = grants.join("; ") || "Everybody reads their own answers alone.";
}

function showSpending(spending, budget) {
  by("budget").max = budget.cap_epsilon || Math.max(1, budget.epsilon);
  by("budget").value = budget.epsilon;
  const overruns = spending.overruns ? ` ${number(spending.overruns)} ${spending.overruns === 1 ? "reply" : "replies"} left later than allotted.` : "";
  by("budget-text").textContent = `epsilon ${small(budget.epsilon)}${budget.delta ? `, delta ${small(budget.delta)}` : ""} spent of ${spending.budget || "no limit"}.${overruns}`;
  fill(by("spending"), spending.uses.map((use) => [use.name || use.kind, { time: localTime(use.time) }, { number: small(use.epsilon) }, { number: small(use.cumulative) }]).reverse());
  by("store-head").textContent = spending.head;
  by("spending-plot").replaceChildren();
  if (spending.uses.length) {
    const points = spending.uses.map((use) => ({ x: Date.parse(use.time), y: use.cumulative }));
    by("spending-plot").append(chart(points, { label: `Epsilon spent over time, by ${spending.uses.length} uses`, cap: budget.cap_epsilon, stairs: true, names: { x: "time", first: spending.uses[0].time.slice(0, 10), last: spending.uses.at(-1).time.slice(0, 10) } }));
  }
}

function lineFacts(body) {
  return Object.entries(JSON.parse(body)).filter(([, value]) => value !== null).map(([name, value]) => {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return `${name}: ${/^([0-9]+:)?[0-9a-f]{64}$/.test(text) ? `${text.slice(0, 12)}...` : text}`;
  }).join(", ");
}

async function showLog() {
  const { head } = await call("GET", "/v1/audit?limit=1");
  const last = Number(head.split(":")[0]);
  const log = await call("GET", `/v1/audit?after=${Math.max(0, last - LATEST)}&limit=${LATEST}`);
  by("audit-head").textContent = log.head;
  fill(by("audit"), log.lines.map((line) => [{ number: number(line.seq) }, { time: localTime(line.time) }, line.who, line.what, lineFacts(line.body)]).reverse());
}

const pending = (session) => session.state === "waiting" || session.state === "approved";

async function refresh() {
  const [sessions, people, spending, budget] = await Promise.all([call("GET", "/v1/sessions"), call("GET", "/v1/people"), call("GET", "/v1/spending"), call("GET", "/v1/budget")]);
  const waitingFirst = [...sessions.sessions].reverse().sort((one, two) => pending(two) - pending(one));
  fill(by("requests"), waitingFirst.map((session) => [session.id, session.state, { number: small(session.terms.epsilon) }, { number: small(session.terms.delta) }, { number: number(session.terms.queries) }, { number: number(session.answers) }, { number: small(session.error_bound ?? session.forecast) }, decision(session)]));
  showPeople(people.people);
  showSpending(spending, budget.all);
  await showLog();
}

function optional(id) {
  return by(id).value === "" ? {} : { [id.slice(4)]: Number(by(id).value) };
}

by("add").addEventListener("submit", (event) => {
  event.preventDefault();
  acting(event.submitter, async () => {
    const body = { name: by("add-name").value, role: by("add-role").value, preapproved: by("add-preapproved").checked, ...optional("add-epsilon"), ...optional("add-delta"), ...optional("add-queries") };
    showToken(await call("POST", "/v1/people", body));
    by("add").reset();
  });
});
by("grant").addEventListener("submit", (event) => {
  event.preventDefault();
  acting(event.submitter, () => call("PUT", "/v1/grants", { reader: by("grant-reader").value, analyst: by("grant-analyst").value, allowed: event.submitter.value === "yes" }));
});

async function start() {
  me = await signedIn("curator");
  await refresh();
  setInterval(() => {
    const typing = document.activeElement?.closest("form, td");
    if (!document.hidden && !typing) refresh().catch(() => null);
  }, 10000);
  document.body.dataset.ready = "yes";
}

start().catch((error) => show(by("note"), error.message));
