// The page: each part starts on its own, so that one that fails leaves the others working.
import { byId } from "./dom.js";
import { startNetwork } from "./network.js";
import { startSearch } from "./search.js";
import { bridgeTable, communityTable } from "./tables.js";
import { startTheme } from "./theme.js";
import { startTraces } from "./traces.js";

startTheme();
// The picture of the network section, small, beside the headline.
byId("hero").src = byId("still").src;
communityTable();
bridgeTable();
startSearch();
startTraces();
startNetwork();
