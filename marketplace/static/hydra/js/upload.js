/* Sends chosen files to the API one request each, at most four at a time, with progress; then completes the
   submission and opens its page. A file that fails can be sent again, removed or left out: the submission stays
   open until the person decides. With data-submission the files join a submission that is still receiving. */
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("upload-form");
  if (!form) return;
  const AT_ONCE = 4;
  const SHOWN = 200;
  const BUSY = [429, 503];
  const TRIES = 6;
  const words = form.querySelector("[data-words]").dataset;
  const classes = JSON.parse(document.getElementById("classes").textContent);
  const declared = JSON.parse(document.getElementById("declared").textContent);
  const zone = form.querySelector("[data-dropzone]");
  const panel = form.querySelector("[data-progress]");
  const list = form.querySelector("[data-files]");
  const summary = form.querySelector("[data-summary]");
  const heading = form.querySelector("[data-heading]");
  const total = form.querySelector("[data-total]");
  const send = form.querySelector("[data-send]");
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const entries = [];
  let submission = form.dataset.submission || null;
  let busy = false;
  let made = 0;
  let warned = 0;
  let goOn = null;

  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_all, name) => values[name]);
  const size = (bytes) => {
    const units = ["B", "KB", "MB", "GB"];
    let unit = 0;
    while (bytes >= 1000 && unit < 3) { bytes /= 1000; unit += 1; }
    return `${bytes.toFixed(unit && bytes < 10 ? 1 : 0)} ${units[unit]}`;
  };
  const counted = (name, n) => (n === 1 ? words[`${name}One`] : words[name]);
  const normal = (text) => text.normalize("NFC").trim();
  const labelOf = (path) => {
    const folders = path.split("/").slice(0, -1).map(normal).reverse();
    return folders.find((folder) => classes.includes(folder)) || "";
  };

  const rowOf = (entry) => {
    const row = document.createElement("li");
    const name = document.createElement("span");
    name.className = "file-name";
    name.textContent = entry.path;
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", entry.path);
    const state = document.createElement("span");
    state.className = "file-state num";
    state.textContent = size(entry.file.size);
    const remove = document.createElement("button");
    remove.type = "button";
    remove.className = "icon-button";
    remove.setAttribute("aria-label", fill(words.remove, { name: entry.path }));
    remove.innerHTML = '<i class="bi bi-x-lg" aria-hidden="true"></i>';
    remove.addEventListener("click", () => { entries.splice(entries.indexOf(entry), 1); draw(); afterRemoving(); });
    row.append(name, bar, state, remove);
    Object.assign(entry, { row, bar, shown: state, remove });
    return row;
  };

  const draw = () => {
    panel.hidden = entries.length === 0;
    const failed = entries.filter((entry) => entry.state === "failed");
    const shown = [...failed, ...entries.filter((entry) => entry.state !== "failed")].slice(0, Math.max(SHOWN, failed.length));
    list.replaceChildren(...shown.map((entry) => entry.row || rowOf(entry)));
    if (entries.length > shown.length) {
      const more = document.createElement("li");
      more.textContent = fill(words.more, { n: entries.length - shown.length });
      list.append(more);
    }
    const bytes = entries.reduce((sum, entry) => sum + entry.file.size, 0);
    summary.textContent = fill(counted("ready", entries.length), { n: entries.length, size: size(bytes) });
  };

  const add = (files) => {
    if (busy) return;
    for (const { file, path } of files) {
      entries.push({ file, path, state: "waiting", number: made });
      made += 1;
    }
    draw();
    afterRemoving();
    complain("");
  };
  const fromInput = (input) => {
    add([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    input.value = "";
  };
  const walk = async (item, prefix, found) => {
    if (item.isFile) {
      const file = await new Promise((done, fail) => item.file(done, fail));
      found.push({ file, path: prefix + file.name });
      return;
    }
    const reader = item.createReader();
    for (;;) {
      const batch = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!batch.length) return;
      for (const child of batch) await walk(child, `${prefix}${item.name}/`, found);
    }
  };

  const problem = document.createElement("p");
  problem.className = "field-error";
  problem.setAttribute("role", "alert");
  send.before(problem);
  const complain = (text) => { problem.textContent = text; };

  const request = (url, body, key, onProgress) => new Promise((done, fail) => {
    const xhr = new XMLHttpRequest();
    xhr.open("POST", url);
    xhr.setRequestHeader("X-CSRFToken", token);
    xhr.setRequestHeader("Accept", "application/json");
    if (key) xhr.setRequestHeader("Idempotency-Key", key);
    if (typeof body === "string") xhr.setRequestHeader("Content-Type", "application/json");
    if (onProgress) xhr.upload.addEventListener("progress", (event) => event.lengthComputable && onProgress(event.loaded / event.total));
    xhr.addEventListener("load", () => {
      let answer = {};
      try { answer = JSON.parse(xhr.responseText); } catch { answer = { message: `${xhr.status}` }; }
      if (xhr.status >= 200 && xhr.status < 300) { done(answer); return; }
      const error = new Error(answer.message || `${xhr.status}`);
      error.retryAfter = BUSY.includes(xhr.status) ? Number(xhr.getResponseHeader("Retry-After")) || 2 : 0;
      fail(error);
    });
    xhr.addEventListener("error", () => fail(new Error(words.offline)));
    xhr.send(body);
  });

  /* A server that asks to wait is asked again; every other refusal is shown. */
  const patiently = async (ask) => {
    for (let tries = 1; ; tries += 1) {
      try { return await ask(); } catch (error) {
        if (!error.retryAfter || tries === TRIES) throw error;
        await new Promise((done) => { window.setTimeout(done, 1000 * Math.min(30, error.retryAfter)); });
      }
    }
  };

  const sendOne = async (entry) => {
    const body = new FormData();
    const chosen = form.elements.label.value;
    const label = chosen || labelOf(entry.path);
    const attributes = {};
    declared.forEach((name, at) => {
      const value = form.elements[`attribute-${at}`].value;
      if (value) attributes[name] = value;
    });
    body.append("file", entry.file, entry.file.name);
    body.append("relative_path", entry.path);
    if (label) body.append("label", label);
    if (Object.keys(attributes).length) body.append("attributes", JSON.stringify(attributes));
    const url = `${form.dataset.submissions}${submission}/files`;
    try {
      await patiently(() => request(url, body, `${form.dataset.key}-${entry.number}`, (share) => { if (entry.bar) entry.bar.value = share; }));
      entry.state = "sent";
      if (entry.remove) entry.remove.remove();
      if (entry.shown) entry.shown.textContent = words.sent;
      if (entry.row) entry.row.dataset.state = "sent";
    } catch (error) {
      entry.state = "failed";
      if (!entry.row) list.append(rowOf(entry));
      entry.row.dataset.state = "failed";
      entry.shown.textContent = `${words.failed}: ${error.message}`;
    }
    if (entry.bar) entry.bar.value = entry.state === "sent" ? 1 : 0;
  };

  const progress = () => {
    const done = entries.filter((entry) => entry.state === "sent").length;
    total.max = entries.length;
    total.value = done;
    summary.textContent = fill(counted("sending", entries.length), { done, n: entries.length });
  };

  const sendAll = async () => {
    const open = entries.filter((entry) => entry.state !== "sent");
    let next = 0;
    const worker = async () => {
      while (next < open.length) {
        const entry = open[next];
        next += 1;
        await sendOne(entry);
        progress();
      }
    };
    progress();
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  };

  const complete = async () => {
    await patiently(() => request(`${form.dataset.submissions}${submission}/complete`, "{}", `${form.dataset.key}-complete`));
    heading.textContent = words.done;
    window.location.assign(`${form.dataset.page}${submission}/`);
  };

  const offerToContinue = () => {
    heading.textContent = words.broken;
    send.disabled = false;
    send.textContent = words.retry;
    entries.filter((entry) => entry.state === "failed").forEach((entry) => entry.row.append(entry.remove));
    draw();
    progress();
    if (goOn || !entries.some((entry) => entry.state === "sent")) return;
    goOn = document.createElement("button");
    goOn.type = "button";
    goOn.className = "btn btn-quiet w-100 mt-2";
    goOn.dataset.goOn = "";
    goOn.textContent = words.continue;
    goOn.addEventListener("click", () => complete().catch((error) => complain(error.message)));
    send.after(goOn);
  };

  /* What the buttons do once rows of a submission under way were removed or added. */
  const afterRemoving = () => {
    if (!submission || !entries.some((entry) => entry.state !== "waiting")) return;
    const failed = entries.some((entry) => entry.state === "failed");
    const allSent = entries.every((entry) => entry.state === "sent");
    send.textContent = allSent ? words.finish : failed ? words.retry : words.sendNew;
    if (goOn) goOn.hidden = allSent;
    progress();
  };

  /* Single files that no folder, table or choice gives a label; asked about once before they are sent. */
  const unlabelled = () => {
    if (form.elements.label.value || !form.dataset.single) return 0;
    const single = form.dataset.single.split(",");
    const open = entries.filter((entry) => entry.state === "waiting" && !labelOf(entry.path));
    return open.filter((entry) => single.some((ending) => entry.path.toLowerCase().endsWith(ending))).length;
  };

  const run = async () => {
    busy = true;
    send.disabled = true;
    heading.textContent = words.uploading;
    entries.forEach((entry) => entry.remove && entry.remove.remove());
    if (goOn) goOn.disabled = true;
    try {
      if (!submission) {
        const body = JSON.stringify({ consent_version: Number(form.dataset.consentVersion) });
        const answer = await request(form.dataset.start, body, form.dataset.key);
        submission = answer.id || answer.public_id;
      }
      await sendAll();
      if (entries.every((entry) => entry.state === "sent")) await complete();
      else offerToContinue();
    } catch (error) {
      complain(error.message);
      send.disabled = false;
      entries.forEach((entry) => entry.state !== "sent" && entry.row && entry.row.append(entry.remove));
    }
    if (goOn) goOn.disabled = false;
    busy = false;
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (busy) return;
    if (!entries.length) { complain(words.none); return; }
    if (!form.elements.consent.checked) { complain(words.agree); form.elements.consent.focus(); return; }
    const bare = unlabelled();
    if (bare > warned) {
      warned = bare;
      complain(fill(counted("bare", bare), { n: bare }));
      form.elements.label.focus();
      return;
    }
    complain("");
    run();
  });
  form.querySelectorAll("input[type=file]").forEach((input) => {
    input.addEventListener("change", () => fromInput(input));
    if (input.files.length) fromInput(input);  // chosen while the page was still loading
  });
  ["dragenter", "dragover"].forEach((name) => zone.addEventListener(name, (event) => { event.preventDefault(); zone.classList.add("over"); }));
  ["dragleave", "drop"].forEach((name) => zone.addEventListener(name, () => zone.classList.remove("over")));
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    const items = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
    const found = [];
    for (const item of items) await walk(item, "", found);
    add(found.length ? found : [...event.dataTransfer.files].map((file) => ({ file, path: file.name })));
  });
});
