import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { SECRETS } from '../support/vendors.ts'
import { type Visitor, visit } from './browser.ts'
import { cards, OWNER, PASSWORD, type Stage, startStage, whySkipped } from './stage.ts'

/** One scenario: each test depends on the tests before it. */
describe.skipIf(whySkipped !== null)('from the owner link to governed agents', { timeout: 60_000 }, () => {
  let stage: Stage
  let owner: Visitor
  const seen = () => stage.vendors.recorder.seen.length
  const text = () => owner.page.locator('main')

  beforeAll(async () => {
    stage = await startStage()
    owner = await visit(stage.browser)
  })
  afterAll(async () => stage?.[Symbol.asyncDispose]())

  test('the owner link registers the owner, by keyboard only', async () => {
    const { page, complaints } = owner
    const link = stage.laptop.ready.owner_link ?? ''
    await page.goto(link)
    await page.getByRole('heading', { name: 'Become the owner' }).waitFor()
    await page.locator('[name="email"]:focus').waitFor()
    await page.keyboard.type(OWNER)
    await page.keyboard.press('Tab')
    await page.keyboard.type('Ada')
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(new URL(page.url()).search).toBe('')
    expect(await page.evaluate('document.cookie')).toBe('')
    complaints.splice(0, complaints.length, ...complaints.filter((line) => !line.includes('/api/auth/me')))
  })

  test('the first view of a signed-in user is shown, and all of it comes from this server', async () => {
    const { page } = owner
    await page.reload()
    await page.getByRole('heading', { name: 'Gateways' }).waitFor()
    const loaded = await page.evaluate(() =>
      performance.getEntriesByType('resource').map((entry) => new URL(entry.name).origin),
    )
    expect(new Set(loaded)).toEqual(new Set([stage.laptop.ready.base_url]))
  })

  test('an empty installation explains the first steps, and its examples have three different decisions', async () => {
    await text().getByText('No requests yet').waitFor()
    const outcomes = { Safe: 'Allowed', Risky: 'Needs approval', Destructive: 'Denied' }
    for (const [name, outcome] of Object.entries(outcomes)) {
      const example = text().locator('.inset', { has: owner.page.getByRole('heading', { name }) })
      await example.getByRole('button', { name: 'Try it' }).click()
      await example.getByText(outcome, { exact: true }).waitFor()
    }
  })

  test('the wizard ends with a key and shows the first request when it arrives', async () => {
    const { page } = owner
    await text().getByRole('link', { name: 'Connect an agent' }).click()
    await page.getByRole('button', { name: 'Test connection' }).click()
    await page.getByText('Connected, connectors').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Enter the name of the agent.').waitFor()
    await page.getByLabel('Name').fill('pilot')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Any HTTP API' }).click()
    await page.getByLabel('Token', { exact: false }).first().fill('secret-of-the-tool')
    await page.getByLabel('Name', { exact: true }).fill('Tool')
    await page.getByText('The name can contain only lower-case letters').first().waitFor()
    await page.getByLabel('Name', { exact: true }).fill('tool')
    await page.getByRole('combobox', { name: 'Hosts' }).fill('tool.example')
    await page.keyboard.press('Enter')
    await page.getByRole('radio', { name: 'Custom' }).check()
    await page.getByRole('button', { name: 'Add pattern' }).click()
    await page.getByRole('combobox', { name: 'Pattern 1' }).fill('generic.get')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('tool.example: generic.get: allow').waitFor()
    await page.getByRole('button', { name: 'Create' }).click()
    const key = (await page.getByLabel('key', { exact: true }).textContent())?.trim() ?? ''
    expect(key).toMatch(/^svc_(test|live)_/)
    expect(await page.getByLabel('command, on this machine', { exact: true }).textContent()).toContain(
      './scripts/chaperone.sh run --agent pilot -- ',
    )
    // The gateway of this installation listens on loopback only.
    expect(await page.getByLabel('command, on another machine').count()).toBe(0)
    await page.getByText('Waiting for the first request of pilot').waitFor()
    const url = new URL(stage.laptop.ready.gateway_url)
    url.username = 'pilot'
    url.password = key
    const pilot = testAgent(stage.laptop, url.href)
    const before = seen()
    const issue = { method: 'POST', host: 'api.github.com', target: '/repos/acme/site/issues' }
    await eventually('the first request of pilot passes', async () => {
      const headers = [['Content-Type', 'application/json']] as const
      const { status } = await pilot.json({ ...issue, headers, body: '{"title":"hello"}' }, 'absolute')
      return status === 201 ? status : null
    })
    expect(seen()).toBeGreaterThan(before)
    expect(stage.vendors.recorder.seen.at(-1)?.header('authorization')).toBe(`token ${SECRETS.codehost}`)
    await page.getByText('First request received').waitFor()
    await page.getByRole('link', { name: 'Show decision' }).click()
    await page.getByText('Decision under the current rules').waitFor()
    await page.getByText('Output of chaperone explain').waitFor()
    await page.keyboard.press('Escape')
  })

  test('a held request is shown in full, as text, and is sent when approved by keyboard', async () => {
    const { page } = owner
    const before = seen()
    const held = stage.merge()
    await page.getByRole('link', { name: 'Approvals' }).click()
    const card = cards(page).filter({ hasText: 'acme/site' }).filter({ hasText: 'commit_title' })
    await card.waitFor()
    const shown = await card.innerText()
    for (const part of ['codehost.', 'pr.merge', 'dev', 'api.github.com/repos/acme/site/pulls/7/merge'])
      expect(shown).toContain(part)
    expect(shown).toContain('Fix <b>the</b> footer')
    expect(shown).toContain('Merge pull request #7 of acme/site.')
    const link = card.getByRole('link', { name: 'Open at github.com' })
    expect(await link.getAttribute('href')).toBe('https://github.com/acme/site/pull/7')
    expect(shown).toContain('waits for the answer')
    expect(await card.locator('b, script, img').count()).toBe(0)
    expect(seen()).toBe(before)
    await card.focus()
    await page.keyboard.press('r')
    await page.keyboard.type('checked with Grace')
    await page.keyboard.press('Escape')
    await card.focus()
    await page.keyboard.press('a')
    expect(seen()).toBe(before)
    await page.keyboard.press('Enter')
    expect(await held).toMatchObject({ status: 200, body: { merged: true } })
    expect(seen()).toBe(before + 1)
    await card.waitFor({ state: 'detached' })
    const result = page.locator('[data-result]:focus')
    await result.getByText('Merge pull request #7 of acme/site.').waitFor()
    await result.getByText('The gateway sends the request.').waitFor()
    await result.getByRole('button', { name: 'Dismiss' }).click()
    await page.locator('[data-result]').waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Answered' }).click()
    await page.getByText(`By ${OWNER}: checked with Grace`).waitFor()
  })

  test('a denied request is never sent, and the agent receives the denial', async () => {
    const { page } = owner
    await page.getByRole('tab', { name: /Pending/ }).click()
    const before = seen()
    const held = stage.merge('{"commit_title":"second"}')
    const card = cards(page).filter({ hasText: 'second' })
    await card.getByText('Last 10 requests of the agent').click()
    await card.locator('details').getByText('pr.merge').first().waitFor()
    await card.getByRole('button', { name: 'Deny' }).click()
    expect(await held).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    expect(seen()).toBe(before)
  })

  test('"Grant for a time" approves the request and later ones like it, until it is revoked', async () => {
    const { page } = owner
    const held = stage.merge('{"commit_title":"third"}')
    const card = cards(page).filter({ hasText: 'third' })
    await card.getByRole('button', { name: 'Grant for a time' }).click()
    const dialog = page.getByRole('dialog', { name: 'Grant for a time' })
    await dialog.getByRole('checkbox', { name: /commit_title/ }).uncheck()
    await dialog.getByRole('textbox', { name: 'Further requests' }).fill('2')
    await dialog.getByRole('button', { name: 'Approve and grant' }).click()
    expect(await held).toMatchObject({ status: 200, body: { merged: true } })
    await page.locator('[data-result]:focus').getByRole('button', { name: 'Dismiss' }).click()
    const merge = encodeURIComponent('https://api.github.com/repos/acme/site/pulls/7/merge')
    const explained = () =>
      stage.laptop.api('GET', `/api/dashboard/explain?method=PUT&agent=dev&url=${merge}`)
    expect((await explained()).body['text']).toMatch(/grant {7}grt_\w+ approves holds of .*2 of 2 uses left/)
    const kill = (active: boolean) =>
      stage.laptop.api('POST', '/api/dashboard/kill-switch', { active, scope: 'agent:dev', reason: 'test' })
    await kill(true)
    expect(await stage.merge('{"commit_title":"killed"}')).toMatchObject({ status: 403 })
    await kill(false)
    expect(await stage.merge('{"commit_title":"fourth"}')).toMatchObject({ status: 200 })
    await page.getByRole('link', { name: 'Permissions' }).click()
    const grants = page.getByRole('region', { name: 'Grants' })
    await grants.getByText('1 of 2').waitFor()
    await grants.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await grants.getByText('Revoked').waitFor()
    await page.getByRole('link', { name: 'Approvals' }).click()
    const again = stage.merge('{"commit_title":"fifth"}')
    await cards(page).filter({ hasText: 'fifth' }).getByRole('button', { name: 'Deny' }).click()
    expect(await again).toMatchObject({ status: 403 })
  })

  test('"Always allow" shows the permission before it saves it', async () => {
    const { page } = owner
    const permissions = async () =>
      (await stage.laptop.api('GET', '/api/dashboard/permissions')).body['permissions'] as { agent: string }[]
    const refund = {
      method: 'POST',
      host: 'api.stripe.com',
      target: '/v1/refunds',
      headers: [['Content-Type', 'application/x-www-form-urlencoded']] as const,
      body: 'charge=ch_1',
    }
    const held = stage.agent.json(refund)
    const card = cards(page).filter({ hasText: 'charge.refund' })
    await card.getByRole('button', { name: 'Always allow' }).click()
    const yaml = await page.getByLabel('permission', { exact: true }).textContent()
    for (const line of [
      'kind: Permission',
      'agents: [dev]',
      'actionPattern: payments.charge.refund',
      'decision: allow',
    ])
      expect(yaml).toContain(line)
    expect((await permissions()).filter(({ agent }) => agent === 'dev')).toEqual([])
    await page.getByRole('button', { name: 'Save permission' }).click()
    await page.getByText('The permission is saved. Gateways apply the permission').waitFor()
    expect(await permissions()).toContainEqual(
      expect.objectContaining({ agent: 'dev', action_pattern: 'payments.charge.refund', decision: 'allow' }),
    )
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
    await card.getByRole('button', { name: 'Approve' }).click()
    expect((await held).status).toBe(200)
    await eventually('the next one passes by itself', async () => {
      const again = await stage.agent.json(refund)
      return again.status === 200 ? true : null
    })
  })

  test('"Always allow" shows an exception in the policy that requires approval, and the saved exception has an effect', async () => {
    const { page } = owner
    const issue = (repository: string) =>
      stage.agent.json({
        method: 'POST',
        host: 'api.github.com',
        target: `/repos/acme/${repository}/issues`,
        headers: [['Content-Type', 'application/json']],
        body: '{"title":"asked"}',
      })
    const policyYaml =
      'scope:\n  actions: [codehost.issue.create]\nrules:\n  - name: asked\n    decision: require_approval\n'
    const made = await stage.laptop.api('POST', '/api/dashboard/policies', { name: 'issues', policyYaml })
    const id = String(made.body['policy_id'])
    const stored = async () => {
      const { body } = await stage.laptop.api('GET', '/api/dashboard/policies')
      return (body['policies'] as { id: string; version: number }[]).find((policy) => policy.id === id)
    }
    await page.getByRole('link', { name: 'Approvals' }).click()
    const card = cards(page).filter({ hasText: 'issue.create' })
    /** Sends the request; null when no card holds it. */
    const heldIssue = async () => {
      const request = issue('site')
      const shown = card.waitFor().then(
        () => true,
        () => false,
      )
      return (await Promise.race([request.then(() => false), shown])) ? { request } : null
    }
    const held = await eventually('the policy holds the request', heldIssue)
    await card.getByRole('button', { name: 'Always allow' }).click()
    const dialog = page.getByRole('dialog', { name: 'Always allow' })
    const difference = dialog.getByRole('region', { name: 'Difference' })
    await difference.getByText('+ - name: asked-exception', { exact: true }).waitFor()
    await difference.getByText('resource.target == "acme/site"').waitFor()
    await dialog.getByText('Passed').waitFor()
    expect(await stored()).toMatchObject({ version: 1 })
    await dialog.getByRole('button', { name: 'Save exception' }).click()
    await dialog.getByText('The exception is saved.').waitFor()
    expect(await stored()).toMatchObject({ version: 2, active_version: 2 })
    await dialog.getByRole('button', { name: 'Close' }).first().click()
    await card.getByRole('button', { name: 'Deny' }).click()
    expect(await held.request).toMatchObject({ status: 403, body: { error: 'approval denied' } })
    await page.locator('[data-result]:focus').getByRole('button', { name: 'Dismiss' }).click()
    await eventually('the next request for this target passes', async () => {
      const again = await heldIssue()
      if (again === null) return true
      await card.getByRole('button', { name: 'Deny' }).click()
      await again.request
      return null
    })
    const other = issue('docs')
    await cards(page).filter({ hasText: 'acme/docs' }).getByRole('button', { name: 'Deny' }).click()
    expect(await other).toMatchObject({ status: 403 })
    await stage.laptop.api('DELETE', `/api/dashboard/policies?policy_id=${id}`)
  })

  test('traffic updates live, filters are in the URL, and each request shows its decision', async () => {
    const { page } = owner
    await page.getByRole('link', { name: 'Traffic' }).click()
    await page.getByText('Allowed (approved)').first().waitFor()
    const denied = {
      method: 'DELETE',
      host: 'api.github.com',
      target: '/repos/acme/site/git/refs/heads/main',
    }
    const before = seen()
    expect((await stage.agent.json(denied)).status).toBe(403)
    expect(seen()).toBe(before)
    await page.getByText('branch.delete').first().waitFor()
    await page.getByRole('radiogroup', { name: 'Decision' }).getByText('Denied').click()
    await eventually('the filter is in the address', () =>
      page.url().includes('decision=DENY') ? true : null,
    )
    await page.getByText('Allowed (approved)').first().waitFor({ state: 'detached' })
    await page.getByText('branch.delete').first().click()
    const drawer = page.getByRole('dialog')
    await drawer
      .getByText(/^Decided by a permission: .* denies codehost\.branch\.delete/)
      .first()
      .waitFor()
    await drawer
      .getByText(/risk \d/)
      .first()
      .waitFor()
    await drawer.getByText('Output of chaperone explain').click()
    await drawer.getByLabel('explanation', { exact: true }).waitFor()
    expect(await drawer.innerText()).toContain('DELETE api.github.com/repos/acme/site/git/refs/heads/main')
    expect(page.url()).toContain('record=rec_')
    await page.keyboard.press('Escape')
    await page.getByLabel('Search').fill('nothing-has-this-name')
    await page.getByText('No matching requests').waitFor()
    expect(page.url()).toContain('q=nothing-has-this-name')
  })

  test('Explain shows the output of the command line, for a request and for an action', async () => {
    const { page } = owner
    await page.getByRole('link', { name: 'Explain' }).click()
    await page.getByLabel('URL').fill('https://api.github.com/repos/acme/site')
    await page.getByRole('combobox', { name: 'Agent' }).fill('dev')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('Output of chaperone explain').click()
    const explained = (await page.getByLabel('explanation', { exact: true }).textContent()) ?? ''
    const cli = await stage.laptop.cli([
      'explain',
      'GET',
      'https://api.github.com/repos/acme/site',
      '--agent',
      'dev',
    ])
    expect(cli.stdout).toContain(explained.trim())
    await page.getByText('An action', { exact: true }).click()
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    await page.getByText('Denied', { exact: true }).first().waitFor()
  })

  test('Explain warns about an agent that does not exist', async () => {
    const { page } = owner
    await page.goto(
      `${stage.laptop.ready.base_url}/#/explain?method=GET&url=https%3A%2F%2Fapi.github.com%2Fuser&agent=nobody-has-this-name`,
    )
    await page.getByText('The gateway serves no agent with the name nobody-has-this-name').waitFor()
    await page.goto(page.url().replace('nobody-has-this-name', 'dev'))
    await page
      .getByLabel('explanation', { exact: true })
      .getByText('agent dev')
      .or(page.getByText('Decided by'))
      .first()
      .waitFor()
    await page.getByText('The gateway serves no agent').waitFor({ state: 'detached' })
  })

  test('unsaved changes of a policy are kept while the user reads another page', async () => {
    const { page } = owner
    await page.goto(`${stage.laptop.ready.base_url}/#/policies?policy=new`)
    await page.getByLabel('Name').fill('unsaved-draft')
    await page.getByRole('link', { name: 'Traffic' }).click()
    await page.getByRole('heading', { name: 'Traffic' }).waitFor()
    await page.goto(`${stage.laptop.ready.base_url}/#/policies?policy=new`)
    await page.getByRole('button', { name: 'Discard unsaved changes' }).waitFor()
    expect(await page.getByLabel('Name').inputValue()).toBe('unsaved-draft')
    await page.getByRole('button', { name: 'Discard unsaved changes' }).click()
    expect(await page.getByLabel('Name').inputValue()).toBe('')
    await page.getByRole('link', { name: 'Traffic' }).click()
  })

  test('a pending invitation is listed and revoked, and its link then registers no user', async () => {
    const { page } = owner
    const invite = { action: 'invite', email: 'late@example.com', role: 'member' }
    const { body } = await stage.laptop.api('POST', '/api/dashboard/users', invite)
    await page.goto(`${stage.laptop.ready.base_url}/#/users`)
    await page.getByRole('button', { name: 'Revoke the invitation of late@example.com' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('late@example.com').first().waitFor({ state: 'detached' })
    const joined = await stage.laptop.api('POST', '/api/auth/register', {
      ...{ email: 'late@example.com', password: PASSWORD, name: 'Late' },
      invite_token: body['invite_token'],
    })
    expect(joined.status).toBe(403)
  })

  test('two clicks activate the kill switch from any page, which names the user, counts acknowledgements, and is deactivated with a reason', async () => {
    const { page } = owner
    await page.getByRole('button', { name: 'Kill switch', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason (optional)').fill('drill of the test')
    expect((await stage.laptop.api('GET', '/api/dashboard/kill-switch')).body['effective']).toEqual([])
    await dialog.getByRole('button', { name: 'Activate the kill switch' }).click()
    await dialog.getByText(/1 of 1 gateway acknowledged in \d+ ms/).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByText('Kill switch active for everything', { exact: true }).waitFor()
    const before = seen()
    expect(await stage.merge()).toMatchObject({
      status: 403,
      body: { error: `Kill switch active: drill of the test (${OWNER})` },
    })
    expect(seen()).toBe(before)
    await page.getByRole('button', { name: 'Deactivate …' }).click()
    await dialog.getByLabel('Reason').fill('drill is over')
    await dialog.getByRole('button', { name: 'Deactivate', exact: true }).click()
    await page.getByText('Kill switch active for everything', { exact: true }).waitFor({ state: 'detached' })
    expect((await stage.laptop.api('GET', '/api/dashboard/kill-switch')).body['effective']).toEqual([])
    await page.getByRole('button', { name: 'Kill switch', exact: true }).click()
    await dialog.getByRole('button', { name: 'Activate the kill switch' }).click()
    await page.getByText(`activated by ${OWNER}`).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: 'Deactivate …' }).click()
    await dialog.getByRole('button', { name: 'Deactivate', exact: true }).click()
    await page.getByText('Kill switch active for everything', { exact: true }).waitFor({ state: 'detached' })
  })

  test('live updates resume after the control plane was down', async () => {
    const { page, complaints } = owner
    await page.getByRole('link', { name: 'Traffic' }).click()
    await page.getByText('pr.merge').first().waitFor()
    await stage.laptop.crash('controlplane/main')
    const issue = { method: 'POST', host: 'api.github.com', target: '/repos/acme/after/issues' }
    await stage.agent.json({
      ...issue,
      headers: [['Content-Type', 'application/json']],
      body: '{"title":"x"}',
    })
    await page.getByText('acme/after/issues').first().waitFor()
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
    // The browser logged refused connections while the control plane was down.
    complaints.splice(
      0,
      complaints.length,
      ...complaints.filter(
        (line) => !/ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|ERR_SOCKET|status of 5/.test(line),
      ),
    )
  })

  test('no page logged an error or a policy violation', () => {
    expect(owner.complaints).toEqual([])
  })
})
