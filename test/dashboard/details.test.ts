import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { SECRETS } from '../support/vendors.ts'
import { type Visitor, visit, ZONE } from './browser.ts'
import { cards, OWNER, PASSWORD, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

const TELEPHONE = { width: 375, scheme: 'dark' } as const

/** Information that users need to decide, to search, and after refusals. */
describe.skipIf(whySkipped !== null)('information on the pages', { timeout: 60_000 }, () => {
  let stage: Stage
  let owner: Visitor
  let waiting: Visitor
  const base = () => stage.laptop.ready.base_url
  const go = ({ page }: Visitor, place: string) => page.goto(`${base()}/#/${place}`)
  const merge = (number: number, title: string) =>
    stage.agent.json({
      method: 'PUT',
      host: 'api.github.com',
      target: `/repos/acme/site/pulls/${number}/merge`,
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify({ commit_title: title }),
    })
  const answer = async (id: string | null, approved: boolean) =>
    (await stage.laptop.api('POST', '/api/dashboard/proxy-approvals', { id, approved, note: 'by another' }))
      .status

  beforeAll(async () => {
    stage = await startStage()
    await registerOwner(stage)
    ;[owner, waiting] = await Promise.all([stage.signedIn(OWNER, ''), stage.signedIn(OWNER, '')])
    // For the last test: the response of this request never arrives.
    await waiting.context.route('**/api/dashboard/agents', () => undefined)
    await go(waiting, 'agents')
  })
  afterAll(async () => stage?.[Symbol.asyncDispose]())

  test('the sign-in page shows an error for a wrong password and accepts the right one', async () => {
    const { page, context } = await visit(stage.browser)
    await page.goto(base())
    await page.getByLabel('E-mail').fill(OWNER)
    await page.getByLabel('Password', { exact: false }).first().fill('not the password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('E-mail address or password is wrong').waitFor()
    await page.getByLabel('Password', { exact: false }).first().fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await context.close()
  })

  test('a card shows the risk, the rule, the time left and the scope of the approval', async () => {
    await go(owner, 'approvals')
    const held = merge(7, 'the first')
    const card = cards(owner.page).filter({ hasText: 'the first' })
    await card.waitFor()
    const text = await card.innerText()
    for (const part of ['Medium risk 0.50', 'medium risk +0.5', 'Held by', 'permission codehost.pr.merge'])
      expect(text).toContain(part)
    expect(text).toMatch(/\d min \d+ s left/)
    expect(text).toContain('The approval covers exactly this body.')
    await card.getByRole('button', { name: 'Deny' }).click()
    expect((await held).status).toBe(403)
  })

  test('a long request can be shown in full before it is answered', async () => {
    const long = `${'a'.repeat(600)}-the-end`
    const held = stage.agent.json({
      method: 'PUT',
      host: 'api.github.com',
      target: `/repos/acme/site/pulls/7/merge?note=${long}`,
      headers: [['Content-Type', 'application/json']],
      body: '{"commit_title":"long"}',
    })
    const card = cards(owner.page).filter({ hasText: 'pr.merge' })
    await card.getByRole('button', { name: /^Show \d+ more characters$/ }).click()
    await card.getByText('-the-end').waitFor()
    expect(await answer(await card.getAttribute('data-approval'), false)).toBe(200)
    await held
    await card.waitFor({ state: 'detached' })
  })

  test('keyboard shortcuts move through the cards, the oldest first, in the same order as on Overview', async () => {
    const { page } = owner
    // Results of the tests before end with the page.
    await page.reload()
    const first = merge(1, 'older')
    await cards(page).filter({ hasText: 'older' }).waitFor()
    const second = merge(2, 'newer')
    await cards(page).filter({ hasText: 'newer' }).waitFor()
    const ids = await cards(page).evaluateAll((all) => all.map((one) => one.id))
    const focused = () => page.evaluate('document.activeElement.closest("[data-approval]")?.id')
    await page.locator('#page-title').focus()
    await page.keyboard.press('j')
    expect(await focused()).toBe(ids[0])
    await page.keyboard.press('j')
    expect(await focused()).toBe(ids[1])
    await page.keyboard.press('k')
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('next card').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await go(owner, 'overview')
    const listed = page.getByRole('region', { name: 'Pending approvals' }).getByRole('link')
    expect(await listed.nth(1).getAttribute('href')).toContain(String(ids[0]))
    await go(owner, 'approvals')
    await cards(page).nth(1).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('d')
    await page.keyboard.press('Enter')
    expect((await first).status).toBe(403)
    const result = () => page.evaluate('document.activeElement.closest("[data-result]")?.dataset.result')
    await eventually('the result has the focus', async () => ((await result()) === ids[0] ? true : null))
    await page.keyboard.press('j')
    expect(await focused()).toBe(ids[1])
    await page.keyboard.press('d')
    await page.keyboard.press('Enter')
    expect((await second).status).toBe(403)
  })

  test('a card that another approver has answered shows an error and can be dismissed', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/approvals', TELEPHONE)
    const held = merge(3, 'contested')
    const card = cards(page).filter({ hasText: 'contested' })
    await card.waitFor()
    const sizes = await card.locator('.answer').evaluateAll((all) => all.map((one) => one.clientHeight))
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(42)
    await context.route('**/api/dashboard/**', (route) =>
      route.request().method() === 'GET' ? route.abort() : route.continue(),
    )
    expect(await answer(await card.getAttribute('data-approval'), false)).toBe(200)
    expect((await held).status).toBe(403)
    await card.getByRole('button', { name: 'Approve' }).click()
    await card.getByText('Conflict').waitFor()
    // Before the page receives the change.
    await card.getByRole('button', { name: 'Dismiss' }).click()
    await context.unroute('**/api/dashboard/**')
    await card.waitFor({ state: 'detached' })
    await context.close()
  })

  test('a request links to its approval and its evidence, and a link to a completed approval to its result', async () => {
    const { page } = owner
    await go(owner, 'traffic?q=pulls/3/merge')
    await page.locator('[data-record] a').first().click()
    const drawer = page.getByRole('dialog')
    const approval = drawer.getByRole('link', { name: /^apv_/ })
    const id = (await approval.textContent()) ?? ''
    await drawer.getByRole('link', { name: /^Evidence for act_/ }).click()
    await page.getByRole('dialog').getByText('Approval answered').first().waitFor()
    await page.goBack()
    await approval.click()
    await page.locator(`[data-answered="${id}"]:focus`).waitFor()
    await go(owner, `approvals?id=${id}`)
    await page.getByRole('link', { name: 'Show the result' }).click()
    await page.locator(`[data-answered="${id}"]`).getByText('by another').waitFor()
  })

  test('times are in the time zone of the user, with UTC on hover', async () => {
    const { page } = owner
    await go(owner, 'audit')
    const time = page.locator('time').first()
    const at = (await time.getAttribute('datetime')) ?? ''
    const local = new Date(at).toLocaleTimeString('en-GB', { timeZone: ZONE })
    expect(await time.textContent()).toContain(local)
    expect(await time.getAttribute('title')).toBe(`${at.slice(0, 19).replace('T', ' ')} UTC`)
  })

  test('the audit log shows answers and exports the filtered events', async () => {
    const { page } = owner
    await go(owner, 'audit?event_type=approval.responded')
    await page
      .getByText(/codehost\.pr\.merge: denied/)
      .first()
      .waitFor()
    // The token of the command line answered, not the agent.
    await page.locator('[data-row]').filter({ hasText: 'admin-token' }).first().waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export filtered events as CSV' }).click(),
    ])
    const lines = (await readFile(await file.path(), 'utf8')).trim().split('\n').slice(1)
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.filter((line) => !line.includes('approval.responded'))).toEqual([])
  })

  test('objects of manifests show their source and are read-only; no page contains a credential', async () => {
    const { page } = owner
    stage.laptop.writeManifest(
      'policy.yaml',
      'apiVersion: chaperone.dev/v1alpha1\nkind: Policy\nmetadata: { name: from-git }\nspec:\n  rules:\n    - { name: none, conditions: ["false"], decision: deny }\n',
    )
    await go(owner, 'policies')
    const link = page.getByRole('link', { name: /from-git/ })
    await link.click()
    await page.getByText('policy.yaml').first().waitFor()
    expect(await page.getByRole('button', { name: /^(Save|Remove)$/ }).count()).toBe(0)
    expect(await page.getByLabel('Name').first().isEditable()).toBe(false)
    for (const place of ['connectors', 'settings', 'bundle']) {
      await go(owner, place)
      await page.locator('#page-title').waitFor()
      const html = await page.content()
      expect(
        Object.values(SECRETS).filter((secret) => html.includes(secret)),
        place,
      ).toEqual([])
    }
    expect(owner.complaints).toEqual([])
  })

  test('on a narrow screen a new key is fully visible, with its copy button', async () => {
    const { page, context } = await stage.signedIn(OWNER, '#/agents', TELEPHONE)
    await page.getByRole('button', { name: 'New agent' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('pocket')
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    const key = page.getByLabel('key', { exact: true })
    const measured = await key.evaluate((box) => ({ needs: box.scrollWidth, has: box.clientWidth }))
    expect(measured.needs).toBeLessThanOrEqual(measured.has)
    const copy = await page.getByRole('button', { name: 'Copy key' }).boundingBox()
    expect((copy?.x ?? 0) + (copy?.width ?? Number.NaN)).toBeLessThanOrEqual(TELEPHONE.width)
    await context.close()
  })

  test('a page without the required right names the right and who can grant it', async () => {
    await stage.invite('eve3@example.com', 'viewer')
    const { page, context } = await stage.signedIn('eve3@example.com', '#/approvals')
    await page.getByText('Permission denied').waitFor()
    await page
      .getByText(
        /requires the right approvals\/get. You are signed in as eve3@example.com with the role viewer/,
      )
      .waitFor()
    await context.close()
  })

  test('a request without a response ends with an error instead of a skeleton, and is retried', async () => {
    const { page, context } = waiting
    await page.getByText('The control plane does not respond').waitFor()
    expect(await page.getByText('Loading').count()).toBe(0)
    await context.unroute('**/api/dashboard/agents')
    await page.getByText('Its permissions').first().waitFor()
    await context.close()
  })
})
