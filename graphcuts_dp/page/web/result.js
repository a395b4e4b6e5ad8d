// A run: its state, its result, and the list of earlier runs.
import { busy, element, fill, show, small } from "/page/shared.js";
import * as account from "/web/account.js";
import { authorization, byId, fieldOfRole, post, save, setValue, state, unsaved } from "/web/state.js";

// What the page does when a run is shown, on errors, to offer a step, and to go to one; see `listen`.
let onOpen = () => {}, onError = () => {}, offerStep = () => {}, goTo = () => {};

// Shows the reasons of a refusal in the marked panel, since they may reveal private rows; else hides it.
export async function showReasons(id, run, { has_reasons }) {
  const panel = byId(id);
  panel.classList.toggle("hidden", !has_reasons);
  const { reasons } = has_reasons ? await post("reasons", { run }) : { reasons: [] };
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
  save();
  onOpen();
  for (const id of ["files", "shown", "scrolls", "pictures", "band", "compared", "report"]) byId(id).replaceChildren();
  document.body.removeAttribute("data-report");
  for (const id of ["truth", "resume", "print"]) byId(id).classList.add("hidden");
  byId("reveal").checked = false;
  byId("refusal").classList.add("hidden");
  show(byId("spent"), "");
  show(byId("copy"), "");
  document.querySelector('section[data-step="result"]').removeAttribute("data-run");
  let status;
  for (;;) {
    status = await post("run", { run });
    if (state.run !== run) return;
    byId("title-result").textContent = `${status.title}, ${status.time}`;
    byId("command").textContent = status.command;
    byId("progress").classList.toggle("hidden", status.state !== "running");
    if (status.state !== "running") break;
    byId("progress").value = status.done;
    show(byId("state"), `At work: ${status.message || "reading"}. You may close this page: the run goes on.`, "");
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const isDone = status.state === "done";
  const verdict = status.mostly_noise ? `${status.mostly_noise} The program finds nothing else against publishing these files.` : "It is ready. The program finds nothing against publishing these files. Print the report for whoever decides.";
  show(byId("state"), [status.has_reasons ? "The run was refused, for the reason in the marked panel." : "", status.message, isDone ? verdict : ""].filter(Boolean).join(" "), isDone && !status.mostly_noise ? "good" : "bad");
  await showReasons("refusal", run, status);
  if (isDone) {
    show(byId("spent"), spentText(status.spent), "");
    await showResult(run, status);
  }
  if (status.state === "refused" && status.account) offerAccount(status.account);
  else if (status.state === "refused" && status.of_other_data) offerAccounts();
  else if (status.state === "refused") offerStep(byId("state"), status.step);
  if (status.copy && status.state !== "lost") offerDeletion(status.copy);
  byId("resume").classList.toggle("hidden", status.state !== "lost");
  byId("notes-of-run").replaceChildren(...status.notes.map((text) => element("li", { text })));
  document.querySelector('section[data-step="result"]').setAttribute("data-run", `${run} ${status.state}`);
  await showRuns();
}

// Offers the account that these rows were charged to before: only there all spending adds up.
function offerAccount(path) {
  show(byId("state"), `These rows were charged to another account before: ${path}. Use it, so that all that is used up adds up. Nothing was spent. `);
  byId("state").append(element("button", { type: "button", text: "Use that account", onclick: () => { setValue(fieldOfRole("store").key, path); setValue(fieldOfRole("same_people").key, ""); goTo("exact"); } }));
}

// Offers to share an account that is about other rows of the same people, or a new account.
function offerAccounts() {
  const name = unsaved.account?.of_file.name;
  if (!name) return;
  byId("state").append(` The account ${name} was made for other rows. `);
  const share = () => { setValue(fieldOfRole("store").key, ""); setValue(fieldOfRole("same_people").key, name); goTo("exact"); };
  const separate = async () => { await account.chooseNewAccount(); goTo("exact"); };
  byId("state").append(
    element("button", { type: "button", text: "They are about the same people: share its budget", onclick: share }),
    element("button", { type: "button", text: "These are other people: new account", onclick: () => separate().catch(onError) }),
  );
}

// Offers to delete the copy of a private file that was dropped on the page.
function offerDeletion(path) {
  show(byId("copy"), `A copy of the private file that you dropped is ${path}. `, "");
  const remove = async () => {
    const { deleted } = await post("forget", { path, confirmed: true });
    show(byId("copy"), deleted ? "The copy is deleted. For another result, choose the file again." : "A run needs the copy, so it stays.", "");
  };
  byId("copy").append(element("button", { type: "button", text: "Delete the copy", onclick: () => remove().catch(onError) }));
}

async function showResult(run, status) {
  byId("shown").innerHTML = status.html; // written by our own server, every text escaped
  byId("report").innerHTML = status.sheets; // likewise
  const box = byId("shown");
  byId("scrolls").textContent = box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1 ? "The table goes on within its box: scroll it." : "";
  document.body.setAttribute("data-report", run);
  byId("print").classList.remove("hidden");
  const names = [...status.files, "report.html", "notebook.ipynb"];
  byId("files").append(...names.map((name) => element("button", { type: "button", text: `Download ${name}`, onclick: () => download(run, name).catch(onError) })));
  byId("band").textContent = status.band;
  byId("truth").classList.toggle("hidden", !status.truth);
  for (const name of status.files.filter((file) => file.endsWith(".png")))
    byId("pictures").append(element("img", { alt: `Picture of the result: ${name}`, src: URL.createObjectURL(await fetchFile(run, name)) }));
}

async function fetchFile(run, name) {
  const reply = await fetch(`/api/file/${encodeURIComponent(run)}/${encodeURIComponent(name)}`, { headers: authorization() });
  return reply.blob();
}

async function download(run, name) {
  const link = element("a", { href: URL.createObjectURL(await fetchFile(run, name)), download: name });
  link.click();
}

// Compares the result with the private file, in the marked panel.
async function compare(event) {
  byId("compared").textContent = "";
  if (!event.target.checked) return;
  const { text } = await post("truth", { run: state.run }).catch((error) => ({ text: error.message }));
  byId("compared").textContent = text;
}

export async function showRuns() {
  const runs = await post("runs");
  byId("before").classList.toggle("hidden", !runs.length);
  fill(byId("past"), runs.map((run) => [
    run.time,
    run.title,
    run.data,
    { number: small(run.epsilon) },
    run.state,
    element("button", { type: "button", text: "Open", "aria-label": `Open ${run.title} of ${run.time}`, onclick: () => { byId("title-result").focus(); follow(run.run).catch(onError); } }),
  ]));
}

async function resume() {
  await busy(byId("resume"), async () => {
    const { run } = await post("resume", { run: state.run });
    await follow(run);
  }).catch(onError);
}

export function listen(actions) {
  ({ onOpen, onError, offerStep, goTo } = actions);
  byId("resume").addEventListener("click", resume);
  byId("print").addEventListener("click", () => window.print());
  byId("reveal").addEventListener("change", compare);
}
