// What was dropped, folders with all that is in them. Hidden files and folders are left out, unless they were named themselves.

const AT_ONCE = 200;

/** To be called while the drop is being told of: afterwards the browser forgets. */
export function entriesOf(transfer) {
  return [...transfer.items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile()).filter(Boolean);
}

/** Hand all files to `take([{file, name, folder}])`, in batches; resolves with {found, unreadable}. */
export async function readEntries(entries, take) {
  let batch = [];
  let found = 0;
  let unreadable = 0;
  const flush = () => {
    if (batch.length > 0) take(batch);
    found += batch.length;
    batch = [];
  };
  for await (const file of walk(entries)) {
    if (file === null) unreadable += 1;
    else batch.push(file);
    if (batch.length === AT_ONCE) flush();
  }
  flush();
  return { found, unreadable };
}

/** Each file, and null for each that cannot be read. */
async function* walk(entries) {
  for (const entry of entries) {
    if (entry instanceof File) yield { file: entry };
    else if (entry.isFile) yield await fileOf(entry);
    else yield* walkFolder(entry);
  }
}

async function* walkFolder(folder) {
  const reader = folder.createReader();
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve(null)));
    if (some === null) yield null;
    // It tells of a hundred at a time, and of none when it has told of all.
    if (!some?.length) return;
    yield* walk(some.filter(({ name }) => !isHidden(name)));
  }
}

function fileOf(entry) {
  return new Promise((resolve) => {
    entry.file((file) => resolve({ file, folder: folderOf(entry.fullPath) }), () => resolve(null));
  });
}

/** The files of a folder that was chosen in the browser's dialog, which names each with its way there. */
export function filesOfFolder(files) {
  const isShown = ({ webkitRelativePath: path }) => !path.split("/").slice(1).some(isHidden);
  return [...files].filter(isShown).map((file) => ({ file, folder: folderOf(file.webkitRelativePath) }));
}

const isHidden = (name) => name.startsWith(".");

const folderOf = (path) => path.split("/").filter(Boolean).slice(0, -1).join("/");
