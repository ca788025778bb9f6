import pg from 'pg'
import type { Browser, Page } from 'playwright-core'
import { createPasswords } from '../../controlplane/crypto/password.ts'
import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { PASSWORD_COST } from '../support/password-cost.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'
import { closeVisits, findBrowser, type View, type Visitor, visit, workerBrowser } from './browser.ts'

export const PASSWORD = 'correct horse battery'
export const OWNER = 'ada@example.com'

/** Installation with mock providers, and the browser of the test worker. */
export type Stage = AsyncDisposable & {
  readonly laptop: Laptop
  readonly vendors: Vendors
  readonly browser: Browser
  /** The starter agent, which has its own port. */
  readonly agent: TestAgent
  /** Sends a merge, which the manifests hold for approval. */
  merge(body?: string): Promise<{ readonly status: number; readonly body: unknown }>
  /** Opens the page with a signed-in user. */
  signedIn(email: string, place: string, view?: View): Promise<Visitor>
  /** Makes an account by invitation; the id. */
  invite(email: string, role: string): Promise<string>
}

/** Why the browser tests are left out; null when they run. In CI a missing browser is a failure. */
export const whySkipped = findBrowser() === null ? 'no chromium is installed' : null
if (whySkipped !== null && process.env['CI'] !== undefined)
  throw new Error('the dashboard tests need a browser: install chromium')

export async function startStage(
  options: { readonly approvalSeconds?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Stage> {
  await buildDashboard()
  const vendors = await startVendors()
  const manifests = vendors.manifests.replace(
    'spec: {}',
    `spec: { approvals: { timeoutSeconds: ${options.approvalSeconds ?? 300} } }`,
  )
  const [laptop, browser] = await Promise.all([
    startLaptop({ database: 'worker', manifests: { 'vendors.yaml': manifests }, env: options.env ?? {} }),
    workerBrowser(),
  ])
  const agent = testAgent(laptop)
  const base = laptop.ready.base_url
  return {
    laptop,
    vendors,
    browser,
    agent,
    merge: (body = '{"commit_title":"Fix <b>the</b> footer"}') =>
      agent.json({
        method: 'PUT',
        host: 'api.github.com',
        target: '/repos/acme/site/pulls/7/merge',
        headers: [['Content-Type', 'application/json']],
        body,
      }),
    async signedIn(email, place, view) {
      const visitor = await visit(browser, view)
      const { page, context } = visitor
      // The form is tried where it is tested.
      const answer = await context.request.post(`${base}/api/auth/login`, {
        data: { email, password: PASSWORD },
        headers: { origin: base },
      })
      if (!answer.ok()) throw new Error(`${email} was not signed in: ${answer.status()}`)
      await page.goto(`${base}/${place}`)
      await page.locator('#page-title').waitFor()
      return visitor
    },
    async invite(email, role) {
      const invited = await laptop.api('POST', '/api/dashboard/users', { action: 'invite', email, role })
      const body = { email, password: PASSWORD, name: email, invite_token: invited.body['invite_token'] }
      const made = await laptop.api('POST', '/api/auth/register', body)
      await cheapenPassword(laptop, email)
      return (made.body['user'] as { id: string }).id
    },
    async [Symbol.asyncDispose]() {
      await closeVisits(browser)
      await laptop.stop()
      await vendors.recorder.close()
    },
  }
}

/** Registers the owner without a browser. */
export async function registerOwner({ laptop }: Pick<Stage, 'laptop'>): Promise<void> {
  const body = { email: OWNER, password: PASSWORD, name: 'Ada' }
  const { status } = await laptop.api('POST', '/api/auth/register', body)
  if (status !== 200) throw new Error(`the owner was not registered: ${status}`)
  await cheapenPassword(laptop, OWNER)
}

/**
 * Replaces the stored hash of the password by one that takes a thousandth of the work to verify. A test signs in a user for each
 * of its pages, and each sign-in with the cost of the product takes 0.1 s of CPU time. Does nothing for an installation with a
 * PostgreSQL of its own.
 */
async function cheapenPassword({ databaseUrl }: Laptop, email: string): Promise<void> {
  if (databaseUrl === null) return
  const hash = await createPasswords(PASSWORD_COST).hash(PASSWORD, email)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('update users set password_hash = $2 where email = $1', [email, hash])
  } finally {
    await client.end()
  }
}

/** The card of an approval by its action. */
export function cards(page: Page) {
  return page.locator('[data-approval]')
}
