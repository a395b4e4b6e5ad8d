// A run and its result: where it stands, the table, pictures, downloads, and what came before.
import { busy, element, fill, show, small } from "/page/shared.js";
import * as account from "/web/account.js";
import { ask, bearer, by, keep, live, put, role, state } from "/web/state.js";

let failed = () => {}, opened = () => {}, reach = () => {}, goTo = () => {};
// Show in the marked panel why a run was refused, which may tell of private rows; else hide it.
export async function why(id, run, { has_reasons }) {
  const panel = by(id);
  panel.classList.toggle("hidden", !has_reasons);
  const { reasons } = has_reasons ? await ask("why", { run }) : { reasons: [] };
  panel.querySelector("p").textContent = reasons.map((text) => sentence(`${text[0].toUpperCase()}${text.slice(1)}`)).join(" ");
}
const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

export function spentText(spent) {
  if (!spent) return "";
  const budget = spent.budget ? `of a budget of ${spent.budget.replace("epsilon = ", "")}: ${small(spent.left)} is left` : "and there is no budget";
  const delta = spent.delta ? `, delta = ${small(spent.delta)}` : "";
  return `All results of these data have used up ${small(spent.epsilon)}${delta}, ${budget}.`;
}

export async function follow(run) {
  state.run = run;
  keep();
  opened();
  for (const id of ["files", "shown", "scrolls", "pictures", "band", "compared", "report"]) by(id).replaceChildren();
  document.body.removeAttribute("data-report");
  for (const id of ["truth", "resume", "print"]) by(id).classList.add("hidden");
  by("reveal").checked = false;
  by("refusal").classList.add("hidden");
  show(by("spent"), "");
  show(by("copy"), "");
  document.querySelector('section[data-step="result"]').removeAttribute("data-run");
  let status;
  for (;;) {
    status = await ask("run", { run });
    if (state.run !== run) return;
    by("title-result").textContent = `${status.title}, ${status.time}`;
    by("command").textContent = status.command;
    by("progress").classList.toggle("hidden", status.state !== "running");
    if (status.state !== "running") break;
    by("progress").value = status.done;
    show(by("state"), `At work: ${status.message || "reading"}. You may close this page: the run goes on.`, "");
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const good = status.state === "done";
  const ready = status.mostly_noise ? `${status.mostly_noise} The program finds nothing else against publishing these files.` : "It is ready. The program finds nothing against publishing these files. Print the report for whoever decides.";
  show(by("state"), [status.has_reasons ? "The run was refused, for the reason in the marked panel." : "", status.message, good ? ready : ""].filter(Boolean).join(" "), good && !status.mostly_noise ? "good" : "bad");
  await why("refusal", run, status);
  if (good) {
    show(by("spent"), spentText(status.spent), "");
    await open(run, status);
  }
  if (status.state === "refused" && status.account) offerAccount(status.account);
  else if (status.state === "refused" && status.of_other_data) offerAccounts();
  else if (status.state === "refused") reach(by("state"), status.step);
  if (status.copy && status.state !== "lost") offerDeletion(status.copy);
  by("resume").classList.toggle("hidden", status.state !== "lost");
  by("notes-of-run").replaceChildren(...status.notes.map((text) => element("li", { text })));
  document.querySelector('section[data-step="result"]').setAttribute("data-run", `${run} ${status.state}`);
  await past();
}

// These rows were charged to another account before: with that one, what is used up adds up.
function offerAccount(path) {
  show(by("state"), `These rows were charged to another account before: ${path}. Use it, so that all that is used up adds up. Nothing was spent. `);
  by("state").append(element("button", { type: "button", text: "Use that account", onclick: () => { put(role("store").key, path); put(role("same_people").key, ""); goTo("exact"); } }));
}

// The account is about other rows: these share it if they are about the same people, or have their own.
function offerAccounts() {
  const name = live.account?.of_file.name;
  if (!name) return;
  by("state").append(` The account ${name} was made for other rows. `);
  const share = () => { put(role("store").key, ""); put(role("same_people").key, name); goTo("exact"); };
  const separate = async () => { await account.separate(); goTo("exact"); };
  by("state").append(
    element("button", { type: "button", text: "They are about the same people: share its budget", onclick: share }),
    element("button", { type: "button", text: "These are other people: new account", onclick: () => separate().catch(failed) }),
  );
}

// The private file that was dropped was copied into the folder; its copy need not stay.
function offerDeletion(path) {
  show(by("copy"), `A copy of the private file that you dropped is ${path}. `, "");
  const remove = async () => {
    const { deleted } = await ask("forget", { path, confirmed: true });
    show(by("copy"), deleted ? "The copy is deleted. For another result, choose the file again." : "A run needs the copy, so it stays.", "");
  };
  by("copy").append(element("button", { type: "button", text: "Delete the copy", onclick: () => remove().catch(failed) }));
}

async function open(run, status) {
  by("shown").innerHTML = status.html; // written by our own server, every text escaped
  by("report").innerHTML = status.sheets; // likewise
  const box = by("shown");
  by("scrolls").textContent = box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1 ? "The table goes on within its box: scroll it." : "";
  document.body.setAttribute("data-report", run);
  by("print").classList.remove("hidden");
  const names = [...status.files, "report.html", "notebook.ipynb"];
  by("files").append(...names.map((name) => element("button", { type: "button", text: `Download ${name}`, onclick: () => download(run, name).catch(failed) })));
  by("band").textContent = status.band;
  by("truth").classList.toggle("hidden", !status.truth);
  for (const name of status.files.filter((each) => each.endsWith(".png")))
    by("pictures").append(element("img", { alt: `Picture of the result: ${name}`, src: URL.createObjectURL(await file(run, name)) }));
}

async function file(run, name) {
  const reply = await fetch(`/api/file/${encodeURIComponent(run)}/${encodeURIComponent(name)}`, { headers: bearer() });
  return reply.blob();
}

async function download(run, name) {
  const link = element("a", { href: URL.createObjectURL(await file(run, name)), download: name });
  link.click();
}

async function reveal(event) {
  by("compared").textContent = "";
  if (!event.target.checked) return;
  const { text } = await ask("truth", { run: state.run }).catch((error) => ({ text: error.message }));
  by("compared").textContent = text;
}

export async function past() {
  const runs = await ask("runs");
  by("before").classList.toggle("hidden", !runs.length);
  fill(by("past"), runs.map((each) => [
    each.time,
    each.title,
    each.data,
    { number: small(each.epsilon) },
    each.state,
    element("button", { type: "button", text: "Open", "aria-label": `Open ${each.title} of ${each.time}`, onclick: () => { by("title-result").focus(); follow(each.run).catch(failed); } }),
  ]));
}

async function resume() {
  await busy(by("resume"), async () => {
    const { run } = await ask("resume", { run: state.run });
    await follow(run);
  }).catch(failed);
}

export function listen(onOpen, onFailure, onReach, onGo) {
  goTo = onGo;
  opened = onOpen;
  reach = onReach;
  failed = onFailure;
  by("resume").addEventListener("click", resume);
  by("print").addEventListener("click", () => window.print());
  by("reveal").addEventListener("change", reveal);
}
