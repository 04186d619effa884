// The page: each part starts on its own, so that one that fails leaves the others working.
import { startContents } from "./contents.js";
import { startNetwork } from "./network.js";
import { startPrinting } from "./printing.js";
import { startSearch } from "./search.js";
import { bridgeTable, communityTable } from "./tables.js";
import { startTheme } from "./theme.js";
import { startTraces } from "./traces.js";

startTheme();
startPrinting();
startContents();
startSearch();
communityTable();
bridgeTable();
startTraces();
startNetwork();
