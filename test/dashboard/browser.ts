import { spawnSync } from 'node:child_process'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { databasesFolder } from '../support/memory-folder.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage']

/** The path of an installed browser; null when there is none. */
export function findBrowser(): string | null {
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
  return null
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: FLAGS, env: { ...process.env, TMPDIR: databasesFolder() } })
}

/** Where the visitors live: neither where the server counts its time nor a whole number of hours away. */
export const ZONE = 'Asia/Kolkata'

export type View = { readonly width: number; readonly scheme: 'light' | 'dark' }

/** A person's own window: cookies and storage of its own, and everything that the pages complained of. */
export type Visitor = {
  readonly page: Page
  readonly context: BrowserContext
  /** Exceptions, console errors, refused resources and violations of the page's policy. */
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

/** The style sheet is the same on every page: that it locks no orientation is read from it, not fetched anew each time. */
const OPTIONS = { resultTypes: ['violations'], preload: false }

/** Violations of serious and critical impact on what is shown now, of all rules or of these: rule, and where. */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Colours that are still on their way are nobody's.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity).map((one) => one.finished))',
  )
  // Through the debugger, because the page's own policy admits no script of ours; once in a document.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source)
  const results = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(document, ${JSON.stringify({ ...OPTIONS, ...(rules === undefined ? {} : { runOnly: rules }) })})`,
  )
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
}
