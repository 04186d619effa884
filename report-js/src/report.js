// The page: each part starts on its own, so that one that fails leaves the others working.
import { startContents } from "./contents.js";
import { startNetwork } from "./network.js";
import { startPrinting } from "./printing.js";
import { startSearch } from "./search.js";
import { bridgeTable, communityTable } from "./tables.js";
import { startTheme } from "./theme.js";
import { startTraces } from "./traces.js";

// The map comes second: its data are opened and its graphics get ready while the other parts are made.
const parts = [startTheme, startNetwork, startPrinting, startContents, startSearch, communityTable, bridgeTable, startTraces];
for (const start of parts) {
  try {
    start();
  } catch (error) {
    console.error(error);
  }
}
document.documentElement.dataset.ready = "true";
