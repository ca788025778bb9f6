import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { type OidcStage, startOidcStage } from '../controlplane/oidc/stage.ts'
import { closeVisits, viewsOf, violations, visit, workerBrowser } from './browser.ts'
import { whySkipped } from './stage.ts'

const SHOTS = process.env['CHAPERONE_SCREENSHOTS']

describe.skipIf(whySkipped !== null)(
  'the sign-in page with an identity provider',
  { timeout: 90_000 },
  () => {
    let stage: OidcStage
    let browser: Browser
    let base: string

    beforeAll(async () => {
      await buildDashboard()
      ;[stage, browser] = await Promise.all([startOidcStage(), workerBrowser()])
      base = stage.here.plane.url
    })
    afterAll(async () => {
      await closeVisits(browser)
      await stage?.[Symbol.asyncDispose]()
    })

    const button = (page: Page) => page.getByRole('button', { name: 'Continue with Example SSO' })

    test.each(viewsOf('narrow'))(
      'offers the provider and the password, accessibly, at $width px, $scheme',
      async (view) => {
        const { page } = await visit(browser, view)
        await page.goto(base)
        await button(page).waitFor()
        await page.getByLabel('E-mail').waitFor()
        expect(await violations(page)).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(view.width)
        if (SHOTS !== undefined)
          await page.screenshot({ path: join(SHOTS, `${view.width}-${view.scheme}.png`) })
        await page.goto(`${base}/#/signed-in?error=too_many_groups`)
        await page.reload()
        await page.getByText('there are too many').waitFor()
        expect(await violations(page)).toEqual([])
        if (SHOTS !== undefined)
          await page.screenshot({ path: join(SHOTS, `${view.width}-${view.scheme}-error.png`) })
      },
    )

    test('an owner link makes the user of the provider the first owner, who may write', async () => {
      const { body } = await stage.here.admin('POST', '/api/auth/owner-link', {})
      const { page, complaints } = await visit(browser)
      stage.idp.signIn = 'ada'
      await page.goto(String(body['owner_link']))
      await button(page).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      expect(new URL(page.url())).toMatchObject({ pathname: '/', search: '' })
      const [row] = await stage.here.sql("select role from users where email = 'ada@example.com'")
      expect(row).toEqual({ role: 'owner' })
      await page.goto(`${base}/#/users`)
      await page.reload()
      await page.getByText('ada@example.com').first().waitFor()
      expect(complaints.filter((line) => !line.includes('/api/auth/me'))).toEqual([])
      await page.context().close()
    })

    test('redirects to the requested page, with the secret of the page and without the code in the history', async () => {
      const { page } = await visit(browser)
      stage.idp.signIn = 'bea'
      await page.goto(`${base}/#/traffic?decision=DENY`)
      await button(page).click()
      await page.getByRole('heading', { name: 'Traffic' }).first().waitFor()
      expect(page.url()).toBe(`${base}/#/traffic?decision=DENY`)
      const kept = await page.evaluate<[string, string | null, number]>(
        "[localStorage.getItem('chaperone.page-secret'), sessionStorage.getItem('chaperone.provider-sign-in'), document.cookie.length]",
      )
      expect(kept).toEqual([expect.stringMatching(/^[\w-]{43}$/), null, 0])
      await page.goBack()
      expect(page.url()).not.toContain('code=')
      await page.context().close()
    })

    test.each([
      ['bea', 'Sees only the namespaces team-a, team-a-staging'],
      ['ada', null],
    ])('names in the account menu of %s the namespaces that limit the lists', async (subject, line) => {
      const { page } = await visit(browser)
      stage.idp.signIn = subject
      await page.goto(base)
      await button(page).click()
      await page.getByRole('button', { name: `Signed in as ${subject}@example.com` }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
      const shown = await page.getByText(/^Sees (only|no) /).allInnerTexts()
      expect(shown).toEqual(line === null ? [] : [line])
      await page.context().close()
    })

    test('shows an admin of one namespace only the pages and buttons of their rights', async () => {
      const { page } = await visit(browser)
      stage.idp.signIn = 'cleo'
      await page.goto(base)
      await button(page).click()
      await page.getByRole('heading', { name: 'Overview' }).waitFor()
      // The role viewer counts in all namespaces.
      await page.getByRole('button', { name: 'Signed in as cleo@example.com' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
      expect(await page.getByText(/^Sees (only|no) /).count()).toBe(0)
      await page.keyboard.press('Escape')
      const pages = await page.getByRole('navigation').getByRole('link').allInnerTexts()
      expect(pages).toEqual(expect.arrayContaining(['Approvals', 'Policies', 'Agents', 'Audit']))
      for (const title of ['Users', 'Settings', 'Get started']) expect(pages).not.toContain(title)
      await page.goto(`${base}/#/policies`)
      await page.getByRole('heading', { name: 'Policies' }).first().waitFor()
      expect(await page.getByRole('button', { name: /new policy/i }).count()).toBe(0)
      await page.goto(`${base}/#/users`)
      await page.getByText('requires the right users/get').waitFor()
      await page.context().close()
    })

    test.each([
      ['dan', 'None of your groups'],
      ['nobody', 'did not sign you in'],
    ])('shows why %s is not signed in', async (subject, sentence) => {
      const { page } = await visit(browser)
      stage.idp.signIn = subject
      if (subject === 'nobody')
        stage.idp.tamper = (path, answer) => {
          if (path === '/token') Object.assign(answer, { status: 400, body: '{"error":"invalid_grant"}' })
        }
      if (subject === 'nobody') stage.idp.signIn = 'bea'
      await page.goto(base)
      await button(page).click()
      await page.getByText(sentence).waitFor()
      stage.idp.tamper = null
      expect(await page.getByText(/code=|error=/).count()).toBe(0)
      await page.context().close()
    })

    test('handles a code of another page, markup as the reason and nothing in the fragment', async () => {
      const { page, complaints } = await visit(browser)
      const markup = encodeURIComponent('<img src=x onerror=alert(1)>')
      for (const query of [`code=${'x'.repeat(43)}`, `error=${markup}`, '']) {
        await page.goto('about:blank')
        await page.goto(`${base}/#/signed-in?${query}`)
        await page.getByText('You are not signed in').waitFor()
        expect(page.url(), query).not.toContain('signed-in')
        expect(await page.locator('img').count(), query).toBe(0)
      }
      expect(complaints.filter((line) => !line.includes('/api/auth/me'))).toEqual([])
      await page.context().close()
    })

    test('without passwords shows the provider alone', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'chaperone-oidc-'))
      await writeFile(join(folder, 'client.secret'), 'secret')
      const plane = await stage.here.another({
        OIDC_ISSUER: stage.idp.issuer,
        OIDC_CLIENT_ID: 'chaperone',
        OIDC_CLIENT_SECRET_FILE: join(folder, 'client.secret'),
        OIDC_GROUPS: '{"*": {"role": "viewer"}}',
        OIDC_NAME: 'Example SSO',
        SIGN_IN: 'oidc',
      })
      const { page } = await visit(browser)
      await page.goto(plane.url)
      await button(page).waitFor()
      expect(await page.locator('form').count()).toBe(0)
      expect(await violations(page)).toEqual([])
      await rm(folder, { recursive: true })
      await page.context().close()
    })
  },
)
