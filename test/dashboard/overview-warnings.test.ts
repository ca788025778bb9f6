import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type View, violations } from './browser.ts'
import { OWNER, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

/** Folder for screenshots; without it the test takes none. */
const SHOTS = process.env['CHAPERONE_SCREENSHOTS']
const WARNING =
  "The owner's token was used 12 times in the last 24 hours, the last time at 2026-01-02T10:00:00Z (POST /api/dashboard/kill-switch). The audit log has every use: owner_token.used."

describe.skipIf(whySkipped !== null)('warnings of the page Overview', { timeout: 60_000 }, () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await startStage()
    await registerOwner(stage)
  }, 120_000)
  afterAll(async () => stage?.[Symbol.asyncDispose](), 90_000)

  test.each<View>([
    { width: 1440, scheme: 'light' },
    { width: 375, scheme: 'dark' },
  ])('are above the key figures at $width px, $scheme', async (view) => {
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
  })
})
