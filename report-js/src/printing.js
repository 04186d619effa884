// Paper shows all there is: what is drawn only when it is scrolled to is drawn before the page is printed.
const before = [];
const after = [];

/** Run `ready` before the page is printed and `done` after it. */
export function onPrint(ready, done = () => {}) {
  before.push(ready);
  after.push(done);
}

export function startPrinting() {
  addEventListener("beforeprint", () => before.forEach((ready) => ready()));
  addEventListener("afterprint", () => after.forEach((done) => done()));
}
