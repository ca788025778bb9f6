import { createECDH, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import { viewsOf, violations } from './browser.ts'
import { cards, OWNER, PASSWORD, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

const HOLD_S = 10
/** For the nightly run: pages of rules that tests of the API prove in `npm test`. */
const nightly = test.runIf(IS_FULL)

describe.skipIf(whySkipped !== null)('rights of users on the pages', { timeout: 60_000 }, () => {
  let stage: Stage
  const seen = () => stage.vendors.recorder.seen.length

  beforeAll(async () => {
    stage = await startStage({ approvalSeconds: HOLD_S })
    await registerOwner(stage)
  })
  afterAll(async () => stage?.[Symbol.asyncDispose]())

  test('an expired card shows it, cannot be answered, and stays until it is dismissed', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/approvals')
    const before = seen()
    // Answered before it expires: an answer of another user is not an expiry.
    const answered = stage.merge('{"commit_title":"in time"}')
    const other = cards(page).filter({ hasText: 'in time' })
    await other.waitFor()
    const held = stage.merge('{"commit_title":"too late"}')
    const card = cards(page).filter({ hasText: 'too late' })
    await card.getByRole('button', { name: 'Approve' }).waitFor()
    const answer = { id: await other.getAttribute('data-approval'), approved: false }
    await stage.laptop.api('POST', '/api/dashboard/proxy-approvals', answer)
    expect(await answered).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    await other.waitFor({ state: 'detached' })
    expect(await held).toMatchObject({ status: 403, body: { error: 'approval expired' } })
    expect(seen()).toBe(before)
    await card.getByText('No approver answered in time').waitFor()
    expect(await cards(page).count()).toBe(1)
    expect(await card.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await card.getByRole('button', { name: 'Dismiss' }).click()
    await card.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Answered' }).click()
    await page.getByText('Expired', { exact: true }).first().waitFor()
    await context.close()
  })

  test('a card whose agent disconnected shows it, and can be answered', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/overview')
    await context.route('**/api/dashboard/proxy-approvals?*', async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      const approvals = body.approvals.map((card: object) => ({ ...card, left_at: new Date().toISOString() }))
      await route.fulfill({ response, json: { ...body, approvals } })
    })
    const held = stage.merge('{"commit_title":"gone"}')
    await page.goto(page.url().replace('#/overview', '#/approvals'))
    const card = cards(page).filter({ hasText: 'gone' })
    await card.getByText('The agent disconnected').waitFor()
    await card.getByRole('button', { name: 'Deny' }).click()
    expect(await held).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    // Intercepted reads can be in flight when the context closes.
    await context.unrouteAll({ behavior: 'wait' })
    await context.close()
  })

  test('an approval that was not used yet can be undone at its result and in the list of answers', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/approvals')
    const made = await stage.laptop.api('POST', '/api/dashboard/agents', {
      ...{ name: 'undone', runtime: 'test', environment: 'production' },
    })
    expect(made.status, JSON.stringify(made.body)).toBe(200)
    const submit = async () => {
      const resource = { provider: 'codehost', target: 'acme/site', environment: 'production' }
      const action_spec = { type: 'codehost.pr.merge', resource, parameters: { number: 7 } }
      const reply = await fetch(`${stage.laptop.ready.base_url}/api/v1/actions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${made.body['api_key']}`, 'content-type': 'application/json' },
        body: JSON.stringify({ action_spec }),
      })
      const text = await reply.text()
      expect(reply.status, text).toBe(200)
      const { action_request_id: id, status } = JSON.parse(text)
      expect(status).toBe('pending_approval')
      return async () => {
        const path = `${stage.laptop.ready.base_url}/api/v1/actions/${id}`
        const read = await fetch(path, { headers: { authorization: `Bearer ${made.body['api_key']}` } })
        return ((await read.json()) as { status: string }).status
      }
    }
    const card = cards(page).filter({ hasText: 'undone' })
    const statusOfFirst = await submit()
    await card.getByRole('button', { name: 'Approve' }).click()
    const result = page.locator('[data-result]:focus')
    await result.getByRole('button', { name: 'Undo' }).click()
    await result.getByText('The approval is withdrawn').waitFor()
    expect(await statusOfFirst()).toBe('cancelled')
    await result.getByRole('button', { name: 'Dismiss' }).click()
    const statusOfSecond = await submit()
    await card.getByRole('button', { name: 'Approve' }).click()
    await page.locator('[data-result]:focus').waitFor()
    await page.getByRole('tab', { name: 'Answered' }).click()
    const undo = page.locator('[data-answered]').getByRole('button', { name: 'Undo' })
    await undo.click()
    await undo.waitFor({ state: 'detached' })
    expect(await statusOfSecond()).toBe('cancelled')
    await context.close()
  })

  test('a user turns Web Push on in a browser, sends a test, and turns it off', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/approvals')
    const p256dh = createECDH('prime256v1').generateKeys('base64url')
    const keys = { p256dh, auth: randomBytes(16).toString('base64url') }
    const endpoint = 'https://fcm.googleapis.com/fcm/send/canary'
    // No push service can be reached here. The service worker is the real one.
    await context.addInitScript(`
      Notification.requestPermission = async () => 'granted'
      let subscription = null
      PushManager.prototype.getSubscription = async () => subscription
      PushManager.prototype.subscribe = async (options) => {
        globalThis.subscribedWith = options
        const unsubscribe = async () => { subscription = null; return true }
        return (subscription = { endpoint: '${endpoint}', unsubscribe,
          toJSON: () => ({ endpoint: '${endpoint}', keys: ${JSON.stringify(keys)} }) })
      }`)
    await context.route('**/push-subscriptions/test', (route) =>
      route.fulfill({ json: { ok: true, error: null } }),
    )
    await page.reload()
    await page.getByRole('button', { name: 'Notifications', exact: true }).click()
    const section = page.getByRole('dialog', { name: 'Notifications' }).getByRole('region', {
      name: 'When no page is open',
    })
    await section.getByRole('button', { name: 'Turn on in this browser' }).click()
    await section.getByText('This browser', { exact: true }).waitFor()
    await section.getByText('fcm.googleapis.com').waitFor()
    const subscribedWith = await page.evaluate('globalThis.subscribedWith')
    expect(subscribedWith).toEqual({ userVisibleOnly: true, applicationServerKey: expect.any(String) })
    expect(await page.evaluate('navigator.serviceWorker.ready.then(({ active }) => active.scriptURL)')).toBe(
      `${stage.laptop.ready.base_url}/service-worker.js`,
    )
    await section.getByRole('button', { name: 'Send a test' }).click()
    await section.getByText('The test message was delivered.').waitFor()
    await section.getByRole('button', { name: 'Remove' }).click()
    await section.getByRole('button', { name: 'Turn on in this browser' }).waitFor()
    await context.close()
  })

  test('title, icon and a notification of the browser count what waits, without its content, and the link opens the card', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/overview')
    await context.addInitScript(`
      globalThis.shown = []
      globalThis.Notification = class {
        static permission = 'granted'
        constructor(title, options) { globalThis.shown.push(title + JSON.stringify(options)) }
      }
      document.hasFocus = () => false`)
    await page.reload()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
    expect(await page.title()).toBe('Overview - Chaperone')
    const held = stage.merge('{"commit_title":"counted"}')
    await eventually('the title counts it', async () =>
      (await page.title()) === '(1) Overview - Chaperone' ? true : null,
    )
    const icon = await page.locator('link[rel="icon"]').getAttribute('href')
    expect(decodeURIComponent(icon ?? '')).toMatch(/^data:image\/svg\+xml,.*>1<\/text>/)
    const shown = await page.evaluate<string>('globalThis.shown.join()')
    expect(shown).toContain('1 pending approval')
    expect(shown).not.toContain('acme')
    const { body } = await stage.laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    const [card] = body['approvals'] as { id: string }[]
    await page.goto(page.url().replace('#/overview', `#/approvals?id=${card?.id}`))
    await page.locator(`[data-approval="${card?.id}"]`).getByRole('button', { name: 'Deny' }).click()
    expect(await held).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    await eventually('the title counts nothing', async () =>
      (await page.title()) === 'Approvals - Chaperone' ? true : null,
    )
    await context.close()
  })

  test('changes between the first read and the opening of the stream are shown', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/approvals')
    const opened = Promise.withResolvers<void>()
    await context.route('**/api/dashboard/events', async (route) => {
      await opened.promise
      await route.continue()
    })
    await page.reload()
    await page.getByText('No pending approvals').first().waitFor()
    const held = stage.merge('{"commit_title":"in between"}')
    const id = await eventually('it is held', async () => {
      const { body } = await stage.laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
      return (body['approvals'] as { id: string }[])[0]?.id ?? null
    })
    opened.resolve()
    await cards(page).filter({ hasText: 'in between' }).waitFor()
    await stage.laptop.api('POST', '/api/dashboard/proxy-approvals', { id, approved: false })
    expect(await held).toMatchObject({ status: 403 })
    await context.close()
  })

  test('the page of a suspended approver cannot approve and shows the sign-in page', async () => {
    const id = await stage.invite('mallory@example.com', 'member')
    const { page, context } = await stage.signedIn('mallory@example.com', '#/approvals')
    const before = seen()
    const held = stage.merge('{"commit_title":"suspended"}')
    const approve = cards(page).filter({ hasText: 'suspended' }).getByRole('button', { name: 'Approve' })
    await approve.waitFor()
    // The page does not receive the suspension.
    await context.route('**/api/dashboard/**', (route) =>
      route.request().method() === 'GET' ? route.abort() : route.continue(),
    )
    await stage.laptop.api('POST', '/api/dashboard/users', { action: 'suspend', user_id: id })
    await approve.click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const { body } = await stage.laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    const [waiting] = body['approvals'] as { id: string; action_type: string }[]
    expect(waiting?.action_type).toBe('codehost.pr.merge')
    await stage.laptop.api('POST', '/api/dashboard/proxy-approvals', { id: waiting?.id, approved: false })
    expect(await held).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    expect(seen()).toBe(before)
    await context.close()
  })

  test('a viewer sees no button that acts, and the API refuses the operations as well', async () => {
    await stage.invite('eve@example.com', 'viewer')
    const { page, context, complaints } = await stage.signedIn('eve@example.com', '#/overview')
    await page.getByRole('heading', { name: 'Gateways' }).waitFor()
    expect(await page.locator('nav a').allInnerTexts()).toEqual([
      'Overview',
      'Traffic',
      'Permissions',
      'Explain',
    ])
    for (const place of ['overview', 'traffic', 'explain', 'approvals', 'get-started']) {
      await page.goto(`${stage.laptop.ready.base_url}/#/${place}`)
      await page.locator('#page-title').waitFor()
      const names = await page.getByRole('button').allInnerTexts()
      expect(names.join(), place).not.toMatch(/kill switch|approve|deny|activate|create|save/i)
    }
    const ask = (path: string, body: unknown) =>
      page.evaluate<number>(
        `fetch(${JSON.stringify(path)}, { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(JSON.stringify(body))} }).then((answer) => answer.status)`,
      )
    expect(complaints).toEqual([])
    expect(await ask('/api/dashboard/kill-switch', { active: true, reason: 'x' })).toBe(403)
    expect(await ask('/api/dashboard/proxy-approvals', { id: 'apv_x', approved: true })).toBe(403)
    expect((await stage.laptop.api('GET', '/api/dashboard/kill-switch')).body['effective']).toEqual([])
    await context.close()
  })

  test('a dialog keeps the focus in the field that the user reached', async () => {
    const email = 'trent@example.com'
    await stage.invite(email, 'member')
    const { page, context } = await stage.signedIn(email, '#/approvals')
    // Holds timers until the test runs them, as browsers do in background windows.
    await context.addInitScript(`{
      const { setTimeout } = window
      let held = []
      window.setTimeout = (run, ms, ...args) =>
        ms ? setTimeout(run, ms, ...args) : held.push(() => run(...args))
      window.runHeld = () => { const due = held; held = []; for (const run of due) run(); return due.length }
    }`)
    await page.reload()
    await page.getByRole('button', { name: `Signed in as ${email}` }).click()
    await page.getByRole('menuitem', { name: 'Change password' }).click()
    const dialog = page.getByRole('dialog', { name: 'Change password' })
    const [current, next] = [dialog.getByLabel(/^Current password/), dialog.getByLabel(/^New password/)]
    await current.fill(PASSWORD)
    await next.focus()
    expect(await page.evaluate<number>('runHeld()')).toBeGreaterThan(0)
    await page.keyboard.insertText('a staple for every horse')
    expect([await current.inputValue(), await next.inputValue()]).toEqual([
      PASSWORD,
      'a staple for every horse',
    ])
    expect(await dialog.getByRole('button', { name: 'Change password' }).isEnabled()).toBe(true)
    await context.close()
  })

  nightly('a password change keeps only this session, and the old password stops working', async () => {
    const email = 'peggy@example.com'
    await stage.invite(email, 'member')
    const [here, there] = await Promise.all([
      stage.signedIn(email, '#/approvals'),
      stage.signedIn(email, '#/approvals'),
    ])
    const { page } = here
    await page.getByRole('button', { name: `Signed in as ${email}` }).click()
    await page.getByRole('menuitem', { name: 'Change password' }).click()
    const dialog = page.getByRole('dialog', { name: 'Change password' })
    const change = dialog.getByRole('button', { name: 'Change password' })
    await dialog.getByLabel(/^Current password/).fill('not this one')
    await dialog.getByLabel(/^New password/).fill('too short')
    expect(await change.isDisabled()).toBe(true)
    await dialog.getByLabel(/^New password/).fill('a staple for every horse')
    await change.click()
    await dialog.getByText('does not match your password').waitFor()
    await dialog.getByLabel(/^Current password/).fill(PASSWORD)
    await change.click()
    await dialog.waitFor({ state: 'detached' })
    await page.reload()
    await page.locator('#page-title').waitFor()
    await there.page.reload()
    await there.page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const signIn = async (password: string) =>
      (await stage.laptop.api('POST', '/api/auth/login', { email, password })).status
    expect(await signIn(PASSWORD)).toBe(401)
    expect(await signIn('a staple for every horse')).toBe(200)
    // Only the browser's log line about the wrong password.
    expect(here.complaints).toEqual([expect.stringMatching(/400 .*\/api\/auth\/password$/)])
    await Promise.all([here.context.close(), there.context.close()])
  })

  test.each(viewsOf('wide'))(
    'a member creates, lists and revokes approver keys at $width px, $scheme',
    async (view) => {
      const email = `keys-${view.width}@example.com`
      await stage.invite(email, 'member')
      const { page, context, complaints } = await stage.signedIn(email, '#/approvals', view)
      await page.getByRole('button', { name: `Signed in as ${email}` }).click()
      await page.getByRole('menuitem', { name: 'Approver keys' }).click()
      const dialog = page.getByRole('dialog', { name: 'Your approver keys' })
      await dialog.getByText('You have no approver keys.').waitFor()
      await dialog.getByLabel(/^Name/).fill('pager')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const shown = await dialog.getByRole('region', { name: 'approver key' }).innerText()
      expect(shown).toMatch(/^svc_user_\w{43}$/)
      await dialog.getByText('pager').waitFor()
      const respond = async () => {
        const path = '/api/v1/approvals/apr_none/respond'
        const headers = { authorization: `Bearer ${shown}`, 'content-type': 'application/json' }
        const body = JSON.stringify({ decision: 'approve' })
        const answer = await fetch(stage.laptop.ready.base_url + path, { method: 'POST', headers, body })
        return answer.status
      }
      expect(await respond()).toBe(404)
      expect(await violations(page)).toEqual([])
      await dialog.getByRole('button', { name: 'Revoke pager' }).click()
      const sure = page.getByRole('dialog', { name: 'Revoke pager' })
      await sure.getByRole('button', { name: 'Revoke' }).click()
      await dialog.getByText('You have no approver keys.').waitFor()
      expect(await respond()).toBe(401)
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  nightly('no user can create a key for another user', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/users')
    await page.getByText(OWNER).first().waitFor()
    const names = await page.getByRole('button').allInnerTexts()
    expect(names.join()).not.toMatch(/key/i)
    await context.close()
  })

  /** Creates a policy with an approver group for merges; resolves when the gateway applies it. */
  async function wantGroup(group: string, name = 'groups'): Promise<void> {
    const rule = {
      name: 'grouped',
      conditions: ['action.type == "codehost.pr.merge"'],
      decision: 'require_approval',
      approver_groups: [group],
    }
    const policy = { name, policyYaml: JSON.stringify({ rules: [rule] }), priority: 900 }
    expect((await stage.laptop.api('POST', '/api/dashboard/policies', policy)).status).toBe(200)
    const question = 'method=PUT&url=https://api.github.com/repos/acme/site/pulls/7/merge&agent=dev'
    await eventually('the gateway decides by the new policy', async () => {
      const { body: answer } = await stage.laptop.api('GET', `/api/dashboard/explain?${question}`)
      if (!String(answer['text']).includes(group)) return null
      const { body: overview } = await stage.laptop.api('GET', '/api/dashboard/overview')
      const [gateway] = overview['gateways'] as { applied_version: number }[]
      return (gateway?.applied_version ?? 0) >= Number(answer['snapshot_version']) ? true : null
    })
  }

  test('a card for a group shows its answer buttons to that group only', async () => {
    const graceId = await stage.invite('grace@example.com', 'member')
    await stage.invite('otto@example.com', 'member')
    await stage.laptop.api('POST', '/api/dashboard/users', {
      action: 'set_groups',
      user_id: graceId,
      groups: ['release-managers'],
    })
    const [otto, grace] = await Promise.all([
      stage.signedIn('otto@example.com', '#/approvals'),
      stage.signedIn('grace@example.com', '#/approvals'),
    ])
    await wantGroup('release-managers')
    const held = stage.merge('{"commit_title":"grouped"}')
    await cards(otto.page).getByText('This request needs an approver of release-managers').waitFor()
    expect(await cards(otto.page).getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await cards(grace.page).getByRole('button', { name: 'Approve' }).click()
    expect((await held).status).toBe(200)
    await Promise.all([otto.context.close(), grace.context.close()])
  })

  nightly(
    'a card of two policies shows the missing answers and stays until both groups have answered',
    async () => {
      const groups = { 'ida@example.com': 'release-managers', 'finn@example.com': 'finance' }
      for (const [email, group] of Object.entries(groups)) {
        const user_id = await stage.invite(email, 'member')
        const body = { action: 'set_groups', user_id, groups: [group] }
        await stage.laptop.api('POST', '/api/dashboard/users', body)
      }
      await wantGroup('finance', 'money')
      const [ida, finn] = await Promise.all([
        stage.signedIn('ida@example.com', '#/approvals'),
        stage.signedIn('finn@example.com', '#/approvals'),
      ])
      const held = stage.merge('{"commit_title":"two policies"}')
      await cards(ida.page).getByRole('button', { name: 'Approve' }).click()
      await cards(ida.page)
        .getByText('You have approved this request. The request still needs an answer of finance.')
        .waitFor()
      await cards(finn.page).getByText('approved by ida@example.com').waitFor()
      await cards(finn.page).getByText('finance, required by').waitFor()
      await cards(finn.page).getByRole('button', { name: 'Approve' }).click()
      expect((await held).status).toBe(200)
      await cards(ida.page).waitFor({ state: 'detached' })
      await Promise.all([ida.context.close(), finn.context.close()])
    },
  )
})
