import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { Recorder } from '../support/recorder.ts'
import { keyOf, PROVIDERS, type ProviderName, startStarterProviders } from '../support/starter-providers.ts'
import { closeVisits, type Visitor, visit, workerBrowser } from './browser.ts'
import { OWNER, PASSWORD, whySkipped } from './stage.ts'

const NAMES = Object.keys(PROVIDERS) as ProviderName[]
/** A read of each provider that the starter manifests allow. */
const READS: Readonly<Record<ProviderName, string>> = {
  codehost: '/user',
  'llm-a': '/v1/models',
  'llm-b': '/v1/models',
  'llm-c': '/v1beta/models',
  payments: '/v1/account',
  chat: '/api/auth.test',
}

/** Script of the page: marks the document when a type is offered before the connectors are shown. */
const NOTE_EARLY_OFFER = `new MutationObserver(() => {
  if (document.body.textContent.includes('OpenAI (llm_a)') && document.querySelector('[data-row]') === null)
    document.documentElement.dataset.offeredEarly = 'true'
}).observe(document.body, { childList: true, subtree: true })`

/** One scenario: each test depends on the tests before it. */
describe.skipIf(whySkipped !== null)('credentials after a plain first start', { timeout: 60_000 }, () => {
  let browser: Browser
  let laptop: Laptop
  let recorder: Recorder
  let owner: Visitor

  beforeAll(async () => {
    await buildDashboard()
    const providers = await startStarterProviders()
    recorder = providers.recorder
    laptop = await startLaptop({ database: 'worker', manifests: providers.manifests })
    browser = await workerBrowser()
    owner = await visit(browser)
    const { page } = owner
    await page.goto(laptop.ready.owner_link ?? '')
    await page.locator('[name="email"]').fill(OWNER)
    for (const text of ['Ada', PASSWORD]) {
      await page.keyboard.press('Tab')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })
  afterAll(async () => {
    await closeVisits(browser)
    await laptop?.stop()
    await recorder?.close()
  })

  test('the wizard lists the connectors of the manifests, takes their credentials and ends in a governed call of each provider', async () => {
    const { page } = owner
    await page.goto(`${laptop.ready.base_url}/#/get-started`)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Name').fill('shop-bot')
    const release = Promise.withResolvers<void>()
    await page.route('**/api/dashboard/connectors', async (route) => {
      await release.promise
      await route.continue()
    })
    // No type is offered before the connectors are known that own the hosts of some, not even for one frame.
    await page.evaluate(NOTE_EARLY_OFFER)
    const catalogue = page.waitForResponse('**/api/dashboard/catalogue')
    await page.getByRole('button', { name: 'Continue' }).click()
    await (await catalogue).finished()
    release.resolve()
    await page.getByText('GitHub (codehost)').first().waitFor()
    await page.locator('[data-row]').first().waitFor()
    expect(await page.locator('html').getAttribute('data-offered-early')).toBeNull()
    expect(await page.getByRole('button', { name: 'OpenAI (llm_a)' }).count()).toBe(0)
    for (const name of NAMES) {
      const row = page.locator(`[data-row="default/${name}"]`)
      await row.getByText('Missing').waitFor()
      await row.getByRole('button', { name: 'Add credential' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.locator('input').first().fill(keyOf(name))
      await dialog.getByRole('button', { name: 'Save credential' }).click()
      await row.getByText(/^Stored, sent as/).waitFor()
    }
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Create' }).click()
    const key = (await page.getByLabel('key', { exact: true }).textContent())?.trim() ?? ''
    expect(key).toMatch(/^svc_(test|live)_/)
    const url = new URL(laptop.ready.gateway_url)
    url.username = 'shop-bot'
    url.password = key
    const agent = testAgent(laptop, url.href)
    for (const name of NAMES) {
      const { host, header, scheme } = PROVIDERS[name]
      await eventually(`a governed call of ${name}`, async () => {
        const { status } = await agent.json({ method: 'GET', host, target: READS[name] }, 'absolute')
        return status === 200 ? status : null
      })
      expect(recorder.seen.at(-1)?.header(header)).toBe(scheme + keyOf(name))
    }
    await page.getByText('First request received').waitFor()
  })

  test('the page Connectors tests a credential and replaces it', async () => {
    const { page } = owner
    await page.goto(`${laptop.ready.base_url}/#/connectors`)
    const test = page.getByRole('button', { name: 'Test credential of default/codehost' })
    await test.click()
    await page.getByText('The provider accepted the credential. Its owner is octo-release.').waitFor()
    await page.getByRole('button', { name: 'Replace credential for default/codehost' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input').first().fill('revoked')
    await dialog.getByRole('button', { name: 'Save credential' }).click()
    await dialog.waitFor({ state: 'detached' })
    await eventually('the refusal', async () => {
      await test.click()
      await page
        .getByRole('status')
        .filter({ hasText: /provider/ })
        .first()
        .waitFor()
      return (await page.getByText('The provider refused the credential (401).').count()) > 0 ? true : null
    })
    expect(owner.complaints.filter((line) => !line.includes('/api/auth/me'))).toEqual([])
  })
})
