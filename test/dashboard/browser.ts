import { spawnSync } from 'node:child_process'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { databasesFolder } from '../support/memory-folder.ts'
import { IS_FULL } from '../support/proof.ts'

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome']
/**
 * Chromium without the program around the pages takes half of the CPU time. The nightly run prefers the browser that users
 * have.
 */
const SHELL = 'chromium-headless-shell'
const NAMES = IS_FULL ? [...BROWSERS, SHELL] : [SHELL, ...BROWSERS]
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage']

/** Returns the path of an installed browser, or null. */
export function findBrowser(): string | null {
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
  return null
}

let shared: Promise<Browser> | undefined

/** The browser of this test worker: each test file closes its own visits by `closeVisits`, and the browser ends with the worker. */
export function workerBrowser(): Promise<Browser> {
  shared ??= chromium.launch({
    ...{ executablePath: findBrowser() ?? '', args: FLAGS },
    // Signals of the worker belong to its tests. The browser ends when its pipe to the worker closes.
    ...{ handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false },
    env: { ...process.env, TMPDIR: databasesFolder() },
  })
  return shared
}

/** Closes all contexts of the browser, with their cookies, storage and pages. */
export async function closeVisits(browser: Browser | undefined): Promise<void> {
  await Promise.all(browser?.contexts().map((context) => context.close()) ?? [])
}

/** Time zone of the visitors: differs from UTC by a fraction of an hour. */
export const ZONE = 'Asia/Kolkata'

export type View = { readonly width: number; readonly scheme: 'light' | 'dark' }

const ALL_VIEWS: readonly View[] = [
  { width: 1440, scheme: 'light' },
  { width: 375, scheme: 'dark' },
  { width: 1440, scheme: 'dark' },
  { width: 375, scheme: 'light' },
]
/**
 * Returns the views of a test: every pair of width and scheme in the nightly run, one in `npm test`, where tests take turns
 * with the wide and the narrow view.
 */
export function viewsOf(turn: 'wide' | 'narrow'): readonly View[] {
  if (IS_FULL) return ALL_VIEWS
  return ALL_VIEWS.slice(0, 2).filter(({ width }) => width < 500 === (turn === 'narrow'))
}

/** Browser context with its own cookies and storage, and its console errors. */
export type Visitor = {
  readonly page: Page
  readonly context: BrowserContext
  /** Exceptions, console errors, blocked resources and violations of the content security policy. */
  readonly complaints: string[]
}

export async function visit(
  browser: Browser,
  view: View = { width: 1440, scheme: 'light' },
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: { width: view.width, height: view.width < 500 ? 812 : 900 },
    colorScheme: view.scheme,
    reducedMotion: 'reduce',
    timezoneId: ZONE,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} ${message.location().url}`)
  })
  return { page, context, complaints }
}

type Violation = {
  readonly id: string
  readonly impact?: string | null
  readonly nodes: ReadonlyArray<{ readonly target: readonly unknown[]; readonly failureSummary?: string }>
}

/** `preload: false`: axe does not fetch the style sheet for each page; a test of the site checks it for orientation locks. */
const OPTIONS = { resultTypes: ['violations'], preload: false }

/** Half of the time of axe goes into contrasts. */
const USUAL_OPTIONS = IS_FULL ? OPTIONS : { ...OPTIONS, rules: { 'color-contrast': { enabled: false } } }

/**
 * Returns violations on the current page: of the given rules, or those of all rules with serious or critical impact. Without
 * `rules`, `npm test` leaves out the contrasts, which `looks.test.ts` and `admin/pages.test.ts` check for each page.
 */
export async function violations(page: Page, rules?: readonly string[] | 'all'): Promise<string[]> {
  // Waits for transitions: intermediate colours would fail the contrast rule.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity).map((one) => one.finished))',
  )
  // Injected through the debugger, because the content security policy blocks other scripts; once per document.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source)
  const results = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${JSON.stringify(optionsOf(rules))})`,
  )
  return results.violations
    .filter(({ impact }) => Array.isArray(rules) || impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
}

function optionsOf(rules: readonly string[] | 'all' | undefined): object {
  if (rules === undefined) return USUAL_OPTIONS
  return rules === 'all' ? OPTIONS : { ...OPTIONS, runOnly: rules }
}

/** Returns the texts of badges on the current page that their boxes cut off. */
export function cutBadges(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    "[...document.querySelectorAll('.tone .mantine-Badge-label')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)",
  )
}
