import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TrafficRecord } from '../../core/record.ts'
import { size } from '../support/proof.ts'
import { cutBadges, type View, type Visitor, viewsOf, violations } from './browser.ts'
import { HOSTILE } from './hostile-strings.ts'
import { ROWS } from './refusal-rows.ts'
import { cards, OWNER, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

/** The narrow one in `npm test`: it shows all that the wide one shows, and less of it fits. */
const ALL_VIEWS: readonly View[] = [
  { width: 375, scheme: 'light' },
  { width: 1440, scheme: 'light' },
]
const VIEWS = ALL_VIEWS.slice(0, size(1, 2))
const SPEC = JSON.stringify({ type: 'codehost.branch.delete', resource: { provider: 'codehost' } })
/** Pages, each with a text to wait for. */
const PLACES = [
  ['overview', 'Most frequent denials'],
  ['approvals', 'Approve'],
  ['approvals?view=list', 'Expires'],
  ['approvals?tab=answered', 'Denied'],
  ['traffic', 'issue.create'],
  ['explain', 'Test a request'],
  ['explain?method=DELETE&url=https://api.github.com/repos/acme/site&agent=dev', 'Decided by'],
  ['explain?mode=action', 'Action spec'],
  [`explain?mode=action&agent=dev&spec=${encodeURIComponent(SPEC)}`, 'a_host_with_a_long_name'],
  ['get-started', 'Existing gateway'],
  ['no-such-page', 'No page has this address'],
] as const
/** Only colours differ in the dark scheme. */
const SCHEMES = [
  ['light', 'all'],
  ['dark', ['color-contrast']],
] as const
const SUBMITTED = HOSTILE.length
/** Folder for screenshots; without it the tests take none. */
const SHOTS = process.env['CHAPERONE_SCREENSHOTS']
const WARNING =
  "The owner's token was used 12 times in the last 24 hours, the last time at 2026-01-02T10:00:00Z (POST /api/dashboard/kill-switch). The audit log lists every use as owner_token.used. Check that an administrator made them."
type Measured = {
  readonly id: string
  readonly width: number
  readonly head: string
  readonly headHeight: number
  readonly buttons: readonly string[]
}
const MEASURE = `[...document.querySelectorAll('[data-approval]')].map((card) => ({
  id: card.id,
  width: card.getBoundingClientRect().width,
  head: card.querySelector('header').innerText,
  headHeight: card.querySelector('header').getBoundingClientRect().height,
  buttons: [...card.querySelectorAll('button')].map((button) => button.innerText.trim()),
}))`
const LONGEST = HOSTILE.filter((text) => text.length > 100)

describe.skipIf(whySkipped !== null)('layout and accessibility of the pages', { timeout: 90_000 }, () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await startStage()
    await registerOwner(stage)
    await fillWithHostileText(stage)
  })
  afterAll(async () => stage?.[Symbol.asyncDispose]())

  const go = async ({ page }: Visitor, place: string, landmark: string) => {
    await page.goto(`${stage.laptop.ready.base_url}/#/${place}`)
    await page.getByText(landmark).first().waitFor()
  }

  test.each(VIEWS)('hostile text at $width px neither runs nor hides anything', async (view) => {
    const visitor = await stage.signedIn(OWNER, '', view)
    const { page, context } = visitor
    await go(visitor, 'approvals', 'Approve')
    const all = cards(page)
    await all.nth(SUBMITTED - 1).waitFor()
    const height = page.viewportSize()?.height ?? 0
    for (const card of await page.evaluate<readonly Measured[]>(MEASURE)) {
      expect(card.width, card.id).toBeLessThanOrEqual(view.width)
      expect(card.headHeight, card.id).toBeLessThan(height / 2)
      expect(card.head, card.id).toContain('hostile.')
      expect(card.buttons, card.id).toEqual(expect.arrayContaining(['Approve', 'Deny']))
    }
    for (const place of ['overview', 'traffic', 'approvals']) {
      await page.goto(`${stage.laptop.ready.base_url}/#/${place}`)
      await page.locator('main :text("codehost."), main :text("hostile.")').first().waitFor()
      const foreign = await page.evaluate<number>(
        "document.querySelectorAll('main :is(script, img, iframe, style:not([data-mantine-styles]), base, form[action], math, a[href^=javascript])').length",
      )
      expect(foreign, place).toBe(0)
      expect(await page.evaluate('globalThis.pwned'), place).toBeUndefined()
    }
    expect(new URL(page.url()).origin).toBe(stage.laptop.ready.base_url)
    expect(visitor.complaints).toEqual([])
    await context.close()
  })

  test('all pending cards are answered', async () => {
    const { body } = await stage.laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending&limit=500')
    const waiting = body['approvals'] as { id: string }[]
    for (const { id } of waiting)
      await stage.laptop.api('POST', '/api/dashboard/proxy-approvals', {
        id,
        approved: false,
        note: HOSTILE[0],
      })
    expect(waiting.length).toBeGreaterThanOrEqual(SUBMITTED)
  })

  test('no two landmarks of the cards have the same role and name', async () => {
    for (const text of LONGEST) await submit(stage, text)
    const visitor = await stage.signedIn(OWNER, '')
    await go(visitor, 'approvals', 'Approve')
    await cards(visitor.page).nth(1).waitFor()
    expect(await violations(visitor.page, ['landmark-unique'])).toEqual([])
    await visitor.context.close()
  })

  describe.each(VIEWS)('at $width px, light and dark', (view) => {
    let visitor: Visitor
    beforeAll(async () => {
      for (const text of LONGEST) await submit(stage, text)
      visitor = await stage.signedIn(OWNER, '', view)
    })
    afterAll(async () => {
      expect(visitor?.complaints).toEqual([])
      await visitor?.context.close()
    })

    const flaws = async () => {
      const { page } = visitor
      const found: string[] = []
      for (const [scheme, rules] of SCHEMES) {
        await page.emulateMedia({ colorScheme: scheme })
        found.push(...(await violations(page, rules)).map((flaw) => `${scheme}: ${flaw}`))
      }
      await page.emulateMedia({ colorScheme: 'light' })
      return found
    }

    test.each(PLACES)(
      '%s has no serious accessibility violation and no horizontal overflow',
      async (place, landmark) => {
        const { page } = visitor
        await go(visitor, place, landmark)
        expect(await flaws()).toEqual([])
        expect(await page.evaluate('globalThis.pwned')).toBeUndefined()
        const surplus = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        expect(await page.evaluate<number>(surplus)).toBe(0)
        expect(await cutBadges(page)).toEqual([])
      },
    )

    test('the details of a request and the kill switch have none either', async () => {
      const { page } = visitor
      await page.goto(`${stage.laptop.ready.base_url}/#/traffic?decision=DENY`)
      await page.locator('[data-record] a').first().click()
      await page.getByText('Decision under the current rules').waitFor()
      expect(await flaws()).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Kill switch', exact: true }).click()
      await page.getByRole('dialog').getByLabel('Reason').fill('to look at it')
      expect(await flaws()).toEqual([])
      await page.keyboard.press('Escape')
    })

    test('the sign-in page has none either', async () => {
      const { page, context, complaints } = visitor
      const before = complaints.length
      await context.clearCookies()
      await page.goto(`${stage.laptop.ready.base_url}/setup`)
      await page.getByRole('heading', { name: 'Register' }).waitFor()
      expect(await flaws()).toEqual([])
      // GET /api/auth/me returned 401.
      complaints.length = before
    })
  })

  test.each(viewsOf('narrow'))(
    'warnings of Overview are above the key figures at $width px, $scheme',
    async (view) => {
      const { page, context, complaints } = await stage.signedIn(OWNER, '', view)
      await context.route('**/api/dashboard/overview', async (route) => {
        const reply = await route.fetch()
        await route.fulfill({ response: reply, json: { ...(await reply.json()), warnings: [WARNING] } })
      })
      await page.goto(`${stage.laptop.ready.base_url}/#/`)
      await page.reload()
      const warning = page.getByRole('status').filter({ hasText: WARNING })
      await warning.waitFor()
      if (SHOTS !== undefined)
        await page.screenshot({ path: join(SHOTS, `overview-${view.width}-${view.scheme}.png`) })
      const { width = 0, x = -1 } = (await warning.boundingBox()) ?? {}
      expect([x >= 0, x + width <= view.width]).toEqual([true, true])
      expect(await violations(page)).toEqual([])
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  describe('aggregated rows of refusals', () => {
    /** Opens Traffic with the records replaced by `ROWS`. */
    async function open(view: View): Promise<Visitor> {
      const visitor = await stage.signedIn(OWNER, '', view)
      await visitor.context.route('**/api/dashboard/traffic?**', async (route) => {
        const reply = await route.fetch()
        const body = (await reply.json()) as { readonly traffic: readonly TrafficRecord[] }
        const first = body.traffic.find(({ decision }) => decision === 'DENY')
        const traffic = first === undefined ? [] : ROWS.map((row) => ({ ...first, note: null, ...row }))
        await route.fulfill({ response: reply, json: { ...body, traffic } })
      })
      await visitor.page.goto(`${stage.laptop.ready.base_url}/#/traffic`)
      await visitor.page.getByText('20,000 refusals').first().waitFor()
      return visitor
    }

    test.each(viewsOf('wide'))('fit and show their counts at $width px, $scheme', async (view) => {
      const { page, context, complaints } = await open(view)
      const shoot = async (name: string) => {
        if (SHOTS !== undefined)
          await page.screenshot({ path: join(SHOTS, `${view.width}-${view.scheme}-${name}.png`) })
      }
      const width = () => page.evaluate<number>('document.documentElement.scrollWidth')
      const several = page.locator('[data-record=rec_several]')
      const text = await several.innerText()
      expect(text).toContain('several')
      expect(text).toContain('10,000 or more targets')
      expect(text).not.toContain('no response')
      expect(await page.locator('[data-record=rec_alike]').innerText()).toContain('1 refusal, 1 target, ')
      expect(await width()).toBeLessThanOrEqual(view.width)
      expect(await violations(page)).toEqual([])
      await shoot('list')
      await several.getByRole('link').click()
      const drawer = page.getByRole('dialog')
      await drawer.getByText('First 32 targets').waitFor()
      const details = await drawer.innerText()
      expect(details).toContain('several')
      for (const wrong of ['no action', 'none matched', 'Connector', 'Status', 'Latency', 'null'])
        expect(details).not.toContain(wrong)
      for (const part of ['no_permission: 19,000', 'codehost.pr.merge: 12,000', 'mcp.*: 8,000'])
        expect(details).toContain(part)
      expect(await width()).toBeLessThanOrEqual(view.width)
      expect(await violations(page)).toEqual([])
      await shoot('details')
      expect(complaints).toEqual([])
      await context.close()
    })

    test.each(viewsOf('narrow'))(
      'of hosts that no connector owns are listed with the manifest to add at $width px, $scheme',
      async (view) => {
        const long = `${'very-long-label.'.repeat(8)}example`
        for (const host of [long, 'telemetry.example', 'play.googleapis.com'])
          await stage.agent.send({ method: 'GET', host, target: '/' }, 'port-h1').catch(() => null)
        const { page, context, complaints } = await stage.signedIn(OWNER, '#/connectors', view)
        const shoot = async (name: string) => {
          if (SHOTS !== undefined)
            await page.screenshot({
              path: join(SHOTS, `${view.width}-${view.scheme}-${name}.png`),
              fullPage: true,
            })
        }
        const width = () => page.evaluate<number>('document.documentElement.scrollWidth')
        const panel = page.getByRole('region', { name: 'Requested hosts without a connector' })
        for (const host of [long, 'telemetry.example', 'play.googleapis.com'])
          await panel.getByText(host, { exact: true }).first().waitFor()
        expect(await panel.innerText()).toContain('Gemini CLI reports its usage there')
        expect(await width()).toBeLessThanOrEqual(view.width)
        expect(await violations(page)).toEqual([])
        await shoot('unowned-hosts')
        await panel.getByRole('button', { name: 'Show manifest for telemetry.example' }).click()
        const dialog = page.getByRole('dialog')
        await dialog.getByText('domains:').waitFor()
        const text = await dialog.innerText()
        for (const line of ['kind: Connector', 'kind: Permission', 'allowedHosts:', '- telemetry.example'])
          expect(text).toContain(line)
        expect(await width()).toBeLessThanOrEqual(view.width)
        expect(await violations(page)).toEqual([])
        await shoot('unowned-host-manifest')
        expect(complaints).toEqual([])
        await context.close()
      },
    )
  })
})

/** Submits actions with hostile text in every field that an agent chooses, and sends requests with hostile paths. */
async function fillWithHostileText(stage: Stage): Promise<void> {
  const { laptop, agent } = stage
  const rule = {
    name: 'ask',
    conditions: ['action.type.startsWith("hostile.")'],
    decision: 'require_approval',
  }
  // A word of the condition is wider than a telephone.
  const long =
    'has(request.host) && request.host.endsWith("a_host_with_a_long_name_that_has_no_break.example")'
  const other = { name: 'other', conditions: [long], decision: 'deny' }
  const policyYaml = JSON.stringify({ rules: [rule, other] })
  await laptop.api('POST', '/api/dashboard/policies', { name: 'ask', policyYaml, priority: 900 })
  await Promise.all(HOSTILE.map((text) => submit(stage, text)))
  const send = (method: string, target: string, body?: string) =>
    agent.json({
      method,
      host: 'api.github.com',
      target,
      ...(body === undefined ? {} : { headers: [['Content-Type', 'application/json']] as const, body }),
    })
  await send('POST', '/repos/acme/site/issues', '{"title":"x"}')
  await send('DELETE', '/repos/acme/site')
  for (const text of HOSTILE.slice(0, 20))
    await send('GET', `/repos/acme/${encodeURIComponent(text).slice(0, 900)}`)
}

/** Uses a new agent for each action, because an agent can submit 60 a minute. */
async function submit(stage: Stage, text: string): Promise<void> {
  const body = { name: `agent-${crypto.randomUUID()}`, runtime: '', environment: 'test' }
  const made = await stage.laptop.api('POST', '/api/dashboard/agents', body)
  const answer = await fetch(`${stage.laptop.ready.base_url}/api/v1/actions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${made.body['api_key']}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action_spec: hostileSpec(text) }),
  })
  const { status } = (await answer.json()) as { status: string }
  if (status !== 'pending_approval') throw new Error(`${JSON.stringify(text)}: ${status}`)
}

function hostileSpec(text: string) {
  return {
    type: `hostile.${text}`.slice(0, 300),
    resource: { provider: 'hostile', target: text },
    parameters: { [text]: text, nested: { [text]: [text] }, long: text.repeat(50) },
    context: { reason: text.repeat(30).slice(0, 9_000) },
  }
}
