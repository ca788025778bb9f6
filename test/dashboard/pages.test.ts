import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testAgent } from '../support/agent.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { SECRETS, startVendors, type Vendors } from '../support/vendors.ts'
import { findBrowser, openBrowser, type Page } from './browser.ts'

let vendors: Vendors
let laptop: Laptop

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ manifests: { 'vendors.yaml': vendors.manifests } })
}, 60_000)
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
}, 30_000)

const fetched = (path: string) => fetch(laptop.ready.base_url + path)

/** Every file that the page loads, itself first: markup and modules name what comes next. */
async function filesOfThePage(): Promise<ReadonlyMap<string, { answer: Response; text: string }>> {
  const found = new Map<string, { answer: Response; text: string }>()
  const waiting = ['/']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    const answer = await fetched(path)
    const text = await answer.text()
    found.set(path, { answer, text })
    for (const [, quoted = ''] of text.matchAll(/(?:from |src=|href=)["']((?:\.|\/assets)\/[^"']+)["']/g))
      waiting.push(quoted.replace(/^\.\//, '/assets/'))
  }
  return found
}

describe('the pages', () => {
  test('page, style and every module are there with their types, and nothing may come from elsewhere', async () => {
    const files = await filesOfThePage()
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['/', '/assets/style.css', '/assets/app.ts', '/assets/dom.ts']),
    )
    for (const [path, { answer }] of files) {
      expect(answer.status, path).toBe(200)
      const type = path === '/' ? 'text/html' : path.endsWith('.css') ? 'text/css' : 'text/javascript'
      expect(answer.headers.get('content-type'), path).toContain(type)
      expect(answer.headers.get('x-content-type-options'), path).toBe('nosniff')
    }
    for (const path of ['/', '/setup']) {
      const policy = (await fetched(path)).headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
    }
  })

  test('the markup has no script, style or handler of its own', async () => {
    const html = await (await fetched('/')).text()
    expect(html).not.toMatch(/<style|\son\w+=|\sstyle=|https?:/i)
    expect(html.match(/<script[^>]*>[^<]/g)).toBeNull()
  })

  test('every API path that the page calls is served', async () => {
    const modules = [...(await filesOfThePage()).values()].map(({ text }) => text).join('\n')
    const calls = [...modules.matchAll(/'(GET|POST)',\s*[`'](\/api\/[a-z/-]+)/g)]
    expect(calls.length).toBeGreaterThanOrEqual(9)
    for (const [, method = '', path = ''] of calls) {
      const answer = await fetch(laptop.ready.base_url + path, { method })
      expect(answer.status, `${method} ${path}`).not.toBe(404)
      await answer.arrayBuffer()
    }
  })
})

const command = findBrowser()
if (command === null && process.env['CI'] !== undefined)
  throw new Error('the dashboard tests need a browser: install chromium')

describe.skipIf(command === null)('in a browser (skipped without chromium)', { timeout: 60_000 }, () => {
  let page: Page
  beforeAll(async () => {
    page = await openBrowser(command ?? '')
  }, 30_000)
  afterAll(async () => page?.close(), 10_000)

  const merge = () =>
    testAgent(laptop).json({
      method: 'PUT',
      host: 'api.github.com',
      target: '/repos/acme/site/pulls/7/merge',
      headers: [['Content-Type', 'application/json']],
      body: '{"commit_title":"Fix <b>the</b> footer"}',
    })
  const TEXT = 'document.body.innerText'

  test('the printed link makes its reader the owner, with the keyboard alone', async () => {
    await page.open(laptop.ready.owner_link ?? '')
    await page.type('[name=email]', 'ada@example.com')
    await page.press('Tab')
    expect(await page.value('document.activeElement.name')).toBe('name')
    await page.type('[name=name]', 'Ada')
    await page.type('[name=password]', 'correct horse battery')
    await page.press('Enter')
    await page.until(`${TEXT}.includes("ada@example.com (owner)")`)
    await page.until(`${TEXT}.includes("Nothing waits")`)
    expect(await page.value('location.pathname + location.search')).toBe('/')
    expect(await page.value('document.cookie')).toBe('')
  })

  test('a held request is shown whole, as text, and goes on when it is approved there', async () => {
    const before = vendors.recorder.seen.length
    const held = merge()
    await page.until('document.querySelector("[data-approval]")')
    const card = await page.value<string>('document.querySelector("[data-approval]").innerText')
    for (const part of [
      'codehost.pr.merge',
      'acme/site',
      'dev',
      'PUT api.github.com/repos/acme/site/pulls/7/merge',
      'Fix <b>the</b> footer',
    ])
      expect(card).toContain(part)
    expect(await page.value('document.querySelectorAll("[data-approval] b").length')).toBe(0)
    expect(vendors.recorder.seen.length).toBe(before)
    await page.type('[data-approval] input', 'checked with Grace')
    await page.click('[data-approval] button.primary')
    expect(await held).toMatchObject({ status: 200, body: { merged: true } })
    expect(vendors.recorder.seen.length).toBe(before + 1)
    expect(vendors.recorder.seen.at(-1)?.header('authorization')).toBe(`token ${SECRETS.codehost}`)
    await page.until(`${TEXT}.includes("checked with Grace")`)
  })

  test('a denied one never leaves, and the agent hears who said no', async () => {
    const before = vendors.recorder.seen.length
    const held = merge()
    await page.until('document.querySelector("[data-approval]")')
    await page.click('[data-approval] button.danger')
    expect(await held).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    expect(vendors.recorder.seen.length).toBe(before)
  })

  test('stop and lift act on the agents, and the page says what is stopped', async () => {
    await page.click('header button.danger')
    await page.until(`${TEXT}.includes("Everything is stopped")`)
    expect(page.dialogs.at(-1)).toContain('1 of 1 gateways stopped')
    const before = vendors.recorder.seen.length
    expect(await merge()).toMatchObject({
      status: 403,
      body: { error: 'Kill switch active: because of the test' },
    })
    expect(vendors.recorder.seen.length).toBe(before)
    await page.click('.banner button')
    await page.until(`!${TEXT}.includes("Everything is stopped")`)
    expect((await laptop.api('GET', '/api/dashboard/kill-switch')).body['effective']).toEqual([])
  })

  test('traffic and overview say what happened and what runs', async () => {
    await page.click('a[href="#traffic"]')
    await page.until(`${TEXT}.includes("codehost.pr.merge")`)
    await page.until(`${TEXT}.includes("(approved)")`)
    await page.type('input[type=search]', 'nothing-has-this-name')
    await page.until(`${TEXT}.includes("Nothing matches")`)
    expect(await page.value('location.hash')).toBe('#traffic?q=nothing-has-this-name')
    await page.click('a[href="#overview"]')
    await page.until(`${TEXT}.includes("default/local")`)
    await page.until(`${TEXT}.includes("${new URL(laptop.ready.gateway_url).host}")`)
  })

  test('a viewer gets only what a viewer may see', async () => {
    const invited = await laptop.api('POST', '/api/dashboard/users', {
      action: 'invite',
      email: 'eve@example.com',
      role: 'viewer',
    })
    await page.value("fetch('/api/auth/logout', { method: 'POST' })")
    await page.open(String(invited.body['invite_link']))
    await page.type('[name=email]', 'eve@example.com')
    await page.type('[name=name]', 'Eve')
    await page.type('[name=password]', 'another horse battery')
    await page.press('Enter')
    await page.until(`${TEXT}.includes("eve@example.com (viewer)")`)
    expect(await page.value("[...document.querySelectorAll('nav a')].map((a) => a.innerText).join()")).toBe(
      'Traffic',
    )
    expect(await page.value("document.querySelector('header button.danger')")).toBe(null)
  })

  test('no page complained of anything but being asked to sign in first', () => {
    expect(page.complaints.filter((text) => !/401 \(Unauthorized\).*\/api\/auth\/me/.test(text))).toEqual([])
  })
})
