import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { viewsOf, violations } from './browser.ts'
import { OWNER, registerOwner, type Stage, startStage, whySkipped } from './stage.ts'

/** Folder for screenshots; without it the test takes none. */
const SHOTS = process.env['CHAPERONE_SCREENSHOTS']
const MANAGED = `apiVersion: chaperone.dev/v1alpha1
kind: Policy
metadata:
  name: guard
  annotations: { chaperone.dev/source-file: rules/guard.yaml, chaperone.dev/source-commit: 0123456789abcdef0123456789abcdef01234567 }
spec:
  description: Guards what is written
  rules: [{ name: hold, conditions: ['action.type == "payments.refund.create"'], decision: require_approval }]
  tests:
    - { name: held, action: { type: payments.refund.create, resource: { provider: payments } }, expect: { outcome: requires_approval } }
`

describe.skipIf(whySkipped !== null)(
  'pages of an installation that edits objects in YAML',
  { timeout: 120_000 },
  () => {
    let stage: Stage

    beforeAll(async () => {
      stage = await startStage({ env: { DASHBOARD_EDITING: 'yaml' } })
      await registerOwner(stage)
      stage.laptop.writeManifest('guard.yaml', MANAGED)
    })
    afterAll(async () => stage?.[Symbol.asyncDispose]())

    test.each(viewsOf('narrow'))(
      'show the manifest to commit instead of saving at $width px, $scheme',
      async (view) => {
        const { page, context } = await stage.signedIn(OWNER, '', view)
        const seen = async (name: string) => {
          if (SHOTS !== undefined)
            await page.screenshot({
              path: join(SHOTS, `${view.width}-${view.scheme}-${name}.png`),
              fullPage: true,
            })
          expect(await violations(page)).toEqual([])
          const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
          expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0)
        }
        const go = async (place: string) => {
          await page.goto(`${stage.laptop.ready.base_url}/#/${place}`)
          await page.getByText('Edited in YAML').first().waitFor()
        }
        await go('policies')
        await page.getByText('Manifest 0123456789ab').first().waitFor()
        await page.getByText('Built in').first().waitFor()
        await seen('policies')

        await page.getByText('default/guard').first().click()
        await page.getByLabel('Priority').fill('321')
        await page.getByRole('button', { name: 'Show manifest' }).click()
        const manifest = page.getByRole('region', { name: 'Manifest' })
        await manifest.waitFor()
        expect(await manifest.innerText()).toMatch(/kind: Policy[\s\S]*name: guard[\s\S]*priority: 321/)
        const note = page.getByRole('status', { name: 'Manifest to commit' })
        expect(await note.innerText()).toMatch(/Tests of default\/guard: all 1 passed\./)
        expect(await note.innerText()).toMatch(/Recent traffic: (no recent|0 of \d+ requests)/)
        await seen('policy')

        await go('permissions')
        await page.getByText('Built in').or(page.getByText('Manifest')).first().waitFor()
        await seen('permissions')
        await go('connectors')
        await page
          .getByRole('button', { name: /^Remove / })
          .first()
          .click()
        await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
        await page.getByText('Objects to remove from the repository').waitFor()
        await seen('connectors')
        const rows = await stage.laptop.api('GET', '/api/dashboard/policies')
        const text = JSON.stringify(rows.body)
        expect(text).toContain('"name":"default/guard"')
        expect(text).not.toContain('321')
        await context.close()
      },
    )

    test('Get started shows the manifests instead of creating objects, and creates no agent', async () => {
      const { page, context } = await stage.signedIn(OWNER, '#/get-started')
      await page.getByText('Edited in YAML').first().waitFor()
      await page.getByRole('radiogroup', { name: 'Gateway' }).getByLabel('New gateway').check()
      await page.getByLabel('Name').fill('default/second')
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByLabel('Name').fill('newcomer')
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('button', { name: 'Continue' }).click()
      expect(await page.getByRole('button', { name: 'Create', exact: true }).count()).toBe(0)
      await page.getByRole('button', { name: 'Show manifest' }).click()
      const manifest = page.getByRole('region', { name: 'Manifest' })
      await manifest.waitFor()
      expect(await manifest.innerText()).toMatch(/kind: Gateway[\s\S]*name: second/)
      const [agents, gateways] = await Promise.all(
        ['agents', 'gateway'].map((path) => stage.laptop.api('GET', `/api/dashboard/${path}`)),
      )
      expect(JSON.stringify(agents?.body)).not.toContain('newcomer')
      expect(JSON.stringify(gateways?.body)).not.toContain('default/second')
      await context.close()
    })
  },
)
