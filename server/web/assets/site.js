// What the page can do without, and does better with.
"use strict";

// A button beside what is there to be copied.
for (const block of document.querySelectorAll("pre.copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copier";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    const text = block.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(block); // not allowed: the reader copies it
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  const frame = document.createElement("div");
  frame.className = "copying";
  block.replaceWith(frame);
  frame.append(block, button);
}

// "/" leads to the search field from anywhere.
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("q");
  if (!field || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// A run that is on is followed: the part of the page that changes is fetched
// again, and replaced unless a reader is at work in it.
const every = 5000; // so that a caller's rate has room for more
async function follow() {
  const live = document.getElementById("live");
  if (!live || !("live" in live.dataset)) return;
  try {
    if (!document.hidden) await renew(live);
  } catch { /* the server is away: ask again */ }
  setTimeout(follow, every);
}

async function renew(live) {
  const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
  if (!fresh || live.contains(document.activeElement)) return;
  for (const open of live.querySelectorAll("details[open][id]")) {
    fresh.querySelector("#" + CSS.escape(open.id))?.setAttribute("open", "");
  }
  live.replaceWith(document.adoptNode(fresh));
}

setTimeout(follow, every);
