// The page: what the address asks for is shown by one of these modules.
import { showList } from './list.js';
import { showRun } from './run.js';
import { showCompare } from './compare.js';
import { showStart } from './start.js';
import { fail } from './page.js';

const pages = { '/': showList, '/run': showRun, '/compare': showCompare, '/start': showStart };

async function show() {
  const path = location.pathname;
  document.getElementById(path === '/start' ? 'nav-start' : 'nav-runs').setAttribute('aria-current', 'page');
  try {
    await pages[path](new URLSearchParams(location.search));
  } catch (err) {
    fail(err);
  }
}

show();
