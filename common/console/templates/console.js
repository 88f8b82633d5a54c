// Loads the parts of a page that change while it is open. Without this script, loading the page again does the same.
"use strict";
const source = new EventSource(document.currentScript.dataset.events);
let busy = false, again = false;
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    const text = await (await fetch(location.href)).text();
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const other = fresh.getElementById(part.id);
      if (!other) continue;
      const unfolded = part.querySelectorAll("details");
      other.querySelectorAll("details").forEach((one, place) => { one.open = unfolded[place]?.open ?? false; });
      // What somebody is using stays as it is until the next change.
      if (other.innerHTML !== part.innerHTML && !part.contains(document.activeElement))
        part.replaceChildren(...other.childNodes);
    }
  } catch (error) {
    // The console ended; the event source says so below.
  }
  busy = false;
  if (again) { again = false; refresh(); }
}
source.onmessage = refresh;
document.addEventListener("focusout", refresh);
source.onerror = () => { document.documentElement.classList.add("away"); };
source.onopen = () => { document.documentElement.classList.remove("away"); };
