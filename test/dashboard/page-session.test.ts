import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readOperations } from '../controlplane/openapi/document.ts'
import { type Call, caller } from '../controlplane/routes/start.ts'
import { size } from '../support/proof.ts'
import { type Visitor, visit } from './browser.ts'
import { cards, OWNER, PASSWORD, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

/** Server of an agent on another port: records the cookies that it receives, and can set cookies. */
type Preview = { readonly url: string; readonly cookies: string[]; plant: string | null }

async function startPreview(): Promise<Preview & { readonly server: Server }> {
  const preview = { url: '', cookies: [] as string[], plant: null as string | null }
  const server = createServer((request, reply) => {
    preview.cookies.push(request.headers.cookie ?? '')
    if (preview.plant !== null) reply.setHeader('set-cookie', preview.plant)
    reply.setHeader('content-type', 'text/html').end('<title>preview</title><h1>preview</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  preview.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(preview, { server })
}

const ALL_PLANTED = [
  'svc_session=x; Path=/api; Max-Age=31536000',
  `svc_session=${'A'.repeat(43)}; Path=/api/dashboard/proxy-approvals`,
  'svc_session=x; Path=/api/dashboard',
  'svc_session=; Path=/api',
]
/** Of the shortest and of the longest path in `npm test`. `page-sessions.test.ts` sends as many as a browser stores. */
const PLANTED = ALL_PLANTED.slice(0, size(2, 4))

describe.skipIf(whySkipped !== null)('the session of a browser', { timeout: 90_000 }, () => {
  let stage: Stage
  let preview: Awaited<ReturnType<typeof startPreview>>
  let owner: Visitor
  let base: string
  let password = PASSWORD
  const seen = () => stage.vendors.recorder.seen.length

  beforeAll(async () => {
    stage = await startStage()
    await registerOwner(stage)
    base = stage.laptop.ready.base_url
    preview = await startPreview()
    owner = await visit(stage.browser)
    await owner.page.goto(base)
    await signIn(owner.page)
  })
  afterAll(async () => {
    preview?.server.close()
    await stage?.[Symbol.asyncDispose]()
  })

  async function signIn(page: Page): Promise<void> {
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByText('chaperone user reset-password').waitFor()
    await page.getByLabel('E-mail').fill(OWNER)
    await page.locator('input[name=password]').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('#page-title').waitFor()
  }

  /** Acts as the agent with all cookies that its server received. */
  async function thief(): Promise<Call> {
    const page = await owner.context.newPage()
    await page.goto(preview.url)
    await page.close()
    await owner.page.bringToFront()
    const cookie = preview.cookies.findLast((each) => each.includes('svc_session=')) ?? ''
    expect(cookie).toMatch(/svc_session=[\w-]{43}/)
    return caller(base, { cookie })
  }

  const cardOf = (page: Page, title: string) => cards(page).filter({ hasText: title })

  test('a first load without a session leaves no error in the console, and an invitation fills in its address', async () => {
    const { page, context, complaints } = await visit(stage.browser)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.goto(base)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(complaints).toEqual([])
    expect(asked).toContain('/api/auth/options')
    await page.goto(`${base}/setup?invite=x&email=ada%40example.com`)
    await page.getByRole('heading', { name: 'You are invited' }).waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).toBe('ada@example.com')
    expect(complaints).toEqual([])
    await context.close()
  })

  test('reaches a server on another port, which can read with it but not write', async () => {
    const before = seen()
    const held = stage.merge('{"commit_title":"stolen cookie"}')
    const { page } = owner
    await page.goto(`${base}/#/approvals`)
    const card = cardOf(page, 'stolen cookie')
    await card.waitFor()
    const id = await card.getAttribute('data-approval')
    const stolen = await thief()
    expect((await stolen('GET', '/api/auth/me')).body).toMatchObject({
      user: { email: OWNER, role: 'owner', restriction: 'page_secret' },
    })
    for (const headers of [{}, { origin: base }, { 'sec-fetch-site': 'same-origin' }]) {
      const answer = await stolen('POST', '/api/dashboard/proxy-approvals', { id, approved: true }, headers)
      expect(answer.status).toBe(403)
      expect(answer.text).toMatch(/Sign in again in the dashboard/)
    }
    const writes = (await readOperations(stolen)).filter(
      ({ method, security }) => method !== 'GET' && security.includes('session'),
    )
    for (const { method, path } of writes) {
      const body = path.endsWith('kill-switch') ? { active: false } : {}
      expect((await stolen(method, path.replaceAll(/\{\w+\}/g, 'x'), body)).status, path).toBe(403)
    }
    expect(seen()).toBe(before)
    // In a second tab: the secret is bound to the origin, not to the tab.
    const tab = await owner.context.newPage()
    await tab.goto(`${base}/#/approvals`)
    await cardOf(tab, 'stolen cookie').getByRole('button', { name: 'Approve' }).click()
    expect((await held).status).toBe(200)
    expect(seen()).toBe(before + 1)
    await tab.close()
  })

  test('cannot be used to write by a page on another port, whose scripts cannot read the secret', async () => {
    const tab = await owner.context.newPage()
    await tab.goto(preview.url)
    const found = await tab.evaluate<[number, string[]]>(`(async () => {
      const answers = await Promise.all(['no-cors', 'cors'].map((mode) => fetch('${base}/api/dashboard/kill-switch', {
        method: 'POST', mode, credentials: 'include', headers: { 'content-type': 'application/json' },
        body: '{"active":true,"scope":"agent:nobody"}',
      }).then((answer) => answer.status, () => -1)))
      return [Math.max(...answers), Object.keys(localStorage)]
    })()`)
    expect(found).toEqual([0, []])
    await tab.close()
    const { body } = await stage.laptop.api('GET', '/api/dashboard/kill-switch')
    expect(body['effective']).toEqual([])
  })

  test.each(PLANTED)('is not locked out by the cookie %s of another port', async (cookie) => {
    preview.plant = cookie
    await thief()
    preview.plant = null
    const { page } = owner
    await page.goto(`${base}/#/approvals`)
    await page.reload()
    const held = stage.merge(`{"commit_title":"${cookie.length} planted"}`)
    await cardOf(page, `${cookie.length} planted`).getByRole('button', { name: 'Deny' }).click()
    expect((await held).status).toBe(403)
    const stopped = await page.evaluate<number>(`fetch('/api/dashboard/kill-switch', { method: 'POST',
      headers: { 'content-type': 'application/json' }, body: '{"active":true,"scope":"agent:nobody"}' }).then((a) => a.status)`)
    expect(stopped).toBe(200)
    const session = (await owner.context.cookies()).filter(({ path }) => path !== '/')
    expect(session.length).toBeGreaterThan(0)
    await owner.context.clearCookies({ path: session[0]?.path ?? '' })
  })

  test('downloads files and receives changes with its cookie', async () => {
    const { page } = owner
    const statuses = await page.evaluate<number[]>(
      `Promise.all(['audit-export', 'export', 'export?format=manifests'].map((path) =>
        fetch('/api/dashboard/' + path).then(({ status }) => status)))`,
    )
    expect(statuses).toEqual([200, 200, 200])
    await page.goto(`${base}/#/audit`)
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: /CSV/ }).click()
    expect((await download).suggestedFilename()).toBe('audit-events.csv')
  })

  test('requires a sign-in if the secret is lost, and continues after it', async () => {
    const { page } = owner
    await page.goto(`${base}/#/approvals`)
    const held = stage.merge('{"commit_title":"lost secret"}')
    await cardOf(page, 'lost secret').waitFor()
    await page.evaluate('localStorage.clear()')
    await page.reload()
    await page.getByText('has lost the secret').waitFor()
    await signIn(page)
    await cardOf(page, 'lost secret').getByRole('button', { name: 'Deny' }).click()
    expect((await held).status).toBe(403)
    // Lost while the page is open: the write is refused, and the page asks for a sign-in.
    const again = stage.merge('{"commit_title":"lost later"}')
    await cardOf(page, 'lost later').waitFor()
    await page.evaluate('localStorage.setItem("chaperone.page-secret", "x")')
    await cardOf(page, 'lost later').getByRole('button', { name: 'Deny' }).click()
    await page.getByText('has lost the secret').waitFor()
    await signIn(page)
    await cardOf(page, 'lost later').getByRole('button', { name: 'Deny' }).click()
    expect((await again).status).toBe(403)
  })

  test('creates approver keys, and can write after a password change, in another tab too', async () => {
    const { page } = owner
    await page.goto(`${base}/#/overview`)
    const tab = await owner.context.newPage()
    await tab.goto(`${base}/#/approvals`)
    await tab.locator('#page-title').waitFor()
    await page.bringToFront()
    const menu = async (item: string) => {
      await page.getByRole('button', { name: new RegExp(OWNER) }).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    await menu('Change password')
    const dialog = page.getByRole('dialog', { name: 'Change password' })
    password = 'a staple for every horse'
    await dialog.getByLabel(/^Current password/).fill(PASSWORD)
    await dialog.getByLabel(/^New password/).fill(password)
    await dialog.getByRole('button', { name: 'Change password' }).click()
    await dialog.waitFor({ state: 'detached' })
    await menu('Approver keys')
    const keys = page.getByRole('dialog', { name: 'Your approver keys' })
    await keys.getByLabel(/^Name/).fill('pager')
    await keys.getByRole('button', { name: 'Create key' }).click()
    await keys.getByRole('region', { name: 'approver key' }).waitFor()
    const held = stage.merge('{"commit_title":"other tab"}')
    await tab.bringToFront()
    await cardOf(tab, 'other tab').getByRole('button', { name: 'Deny' }).click()
    expect((await held).status).toBe(403)
    await tab.close()
  })

  test('ends with its secret at sign-out', async () => {
    const { page } = owner
    await page.goto(`${base}/#/overview`)
    await page.reload()
    await page.getByRole('button', { name: new RegExp(OWNER) }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate('Object.keys(localStorage).filter((key) => key.includes("secret"))')).toEqual(
      [],
    )
  })
})
