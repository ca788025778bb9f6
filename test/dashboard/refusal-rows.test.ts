import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TrafficRecord } from '../../core/record.ts'
import { VIEWS, type View, type Visitor, violations } from './browser.ts'
import { OWNER, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

/** Folder for screenshots; without it the test takes none. */
const SHOTS = process.env['CHAPERONE_SCREENSHOTS']
const LONG_TARGET = `acme/${'very-long-name-'.repeat(12)}`

/** Aggregated row with different requests, and one with equal requests. */
const ROWS: readonly Partial<TrafficRecord>[] = [
  {
    ...{
      id: 'rec_several',
      action_type: null,
      reason: null,
      host: null,
      path: null,
      method: '*',
      status: null,
    },
    ...{ connector: null, permission: null, policies: [], why: null },
    refusals: {
      ...{ count: 20_000, first: '2026-01-02T10:00:00.000Z', last: '2026-01-02T10:00:59.000Z' },
      ...{ distinct_targets: 10_000, more_targets: true },
      targets: [LONG_TARGET, '', ...Array.from({ length: 30 }, (_, n) => `acme/site${n}`)],
      reasons: { no_permission: 19_000, kill_switch: 1_000 },
      actions: { 'codehost.pr.merge': 12_000, 'mcp.*': 8_000 },
    },
  },
  {
    ...{ id: 'rec_alike', action_type: 'codehost.pr.merge', reason: 'no_permission', status: 403 },
    refusals: {
      ...{ count: 1, first: '2026-01-02T10:00:00.000Z', last: '2026-01-02T10:00:00.000Z' },
      ...{ distinct_targets: 1, more_targets: false, targets: ['acme/site'] },
      reasons: { no_permission: 1 },
    },
  },
]

describe.skipIf(whySkipped !== null)('aggregated rows of refusals', { timeout: 60_000 }, () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await startStage()
    await registerOwner(stage)
    const refused = await stage.agent.json({
      method: 'DELETE',
      host: 'api.github.com',
      target: '/repos/acme/site',
    })
    expect(refused.status).toBe(403)
  }, 120_000)
  afterAll(async () => stage?.[Symbol.asyncDispose](), 90_000)

  /** Opens Traffic with the records replaced by `ROWS`. */
  async function open(view: View): Promise<Visitor> {
    const visitor = await stage.signedIn(OWNER, '', view)
    await visitor.context.route('**/api/dashboard/traffic?**', async (route) => {
      const reply = await route.fetch()
      const body = (await reply.json()) as { readonly traffic: readonly TrafficRecord[] }
      const [first] = body.traffic
      const traffic = first === undefined ? [] : ROWS.map((row) => ({ ...first, note: null, ...row }))
      await route.fulfill({ response: reply, json: { ...body, traffic } })
    })
    await visitor.page.goto(`${stage.laptop.ready.base_url}/#/traffic`)
    await visitor.page.getByText('20,000 refusals').first().waitFor()
    return visitor
  }

  test.each(VIEWS)('fit and show their counts at $width px, $scheme', async (view) => {
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

  test.each(VIEWS)(
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
