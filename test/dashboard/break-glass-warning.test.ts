import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { startTestInstallation, type TestInstallation } from '../controlplane/routes/installation.ts'
import { PASSWORD, register } from '../controlplane/routes/start.ts'
import { createTestCa } from '../support/test-ca.ts'
import { closeVisits, visit, workerBrowser } from './browser.ts'
import { whySkipped } from './stage.ts'

const OWNER = 'ada@example.com'

describe.skipIf(whySkipped !== null)('uses of the owner token of a cluster', { timeout: 60_000 }, () => {
  let folder: string
  let kube: Server
  let here: TestInstallation
  let browser: Browser

  beforeAll(async () => {
    await buildDashboard()
    folder = await mkdtemp(join(tmpdir(), 'chaperone-break-glass-'))
    const ca = createTestCa()
    // Minimal API of a cluster: the Secret of the token, without the entry that enables it.
    kube = createServer(ca.issue('127.0.0.1'), (request, reply) => {
      const isSecret = request.url === '/api/v1/namespaces/chaperone-system/secrets/chaperone-keys'
      const secret = { data: { 'admin.token': 'eA==' } }
      reply.writeHead(isSecret ? 200 : 404, { 'content-type': 'application/json' })
      reply.end(JSON.stringify(isSecret ? secret : {}))
    })
    kube.listen(0, '127.0.0.1')
    await once(kube, 'listening')
    const files = { 'ca.crt': ca.cert, token: 'token-of-the-control-plane' }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    ;[here, browser] = await Promise.all([
      startTestInstallation({
        KUBE_API_URL: `https://127.0.0.1:${(kube.address() as AddressInfo).port}`,
        KUBE_CA_FILE: join(folder, 'ca.crt'),
        KUBE_TOKEN_FILE: join(folder, 'token'),
        ADMIN_TOKEN_OBJECT: 'chaperone-system/chaperone-keys',
      }),
      workerBrowser(),
    ])
    expect((await register(here.plane.call, OWNER)).status).toBe(200)
  })
  afterAll(async () => {
    await closeVisits(browser)
    await here?.[Symbol.asyncDispose]()
    kube?.closeAllConnections()
    kube?.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('are shown as a warning on Overview with their count and last use, and as audit events', async () => {
    const { page, context, complaints } = await visit(browser)
    const base = here.plane.url
    const signedIn = await context.request.post(`${base}/api/auth/login`, {
      ...{ data: { email: OWNER, password: PASSWORD }, headers: { origin: base } },
    })
    expect(signedIn.ok()).toBe(true)
    await page.goto(base)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const warning = page.getByRole('status').filter({ hasText: "owner's token" })
    expect(await warning.count()).toBe(0)

    expect((await here.admin('GET', '/api/dashboard/gateway')).status).toBe(403)
    await page.reload()
    await warning.waitFor()
    expect(await warning.textContent()).toMatch(
      /^The owner's token was used once in the last 24 hours, the last time at \S+Z \(GET \/api\/dashboard\/gateway\)\./,
    )
    const stop = { active: true, scope: 'agent:x', reason: 'r' }
    expect((await here.admin('POST', '/api/dashboard/kill-switch', stop)).status).toBe(200)
    await page.reload()
    await warning.filter({ hasText: 'used 2 times' }).waitFor()
    expect(await warning.textContent()).toContain('(POST /api/dashboard/kill-switch)')

    await page.goto(`${base}/#/audit?event_type=owner_token.used`)
    const used = page.getByRole('table').getByText('Owner token used')
    await used.nth(1).waitFor()
    expect(await used.count()).toBe(2)
    expect(complaints).toEqual([])
    await context.close()
  })
})
