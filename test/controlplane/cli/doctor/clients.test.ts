import { expect, test } from 'vitest'
import { clientChecks } from '../../../../controlplane/cli/doctor/clients.ts'

test('Node clients that the preload governs are not listed as bypassing the gateway', () => {
  const node = clientChecks(process.env).filter(({ name }) => name.startsWith('node'))
  expect(JSON.stringify(node)).not.toMatch(/createFetchHttpClient|HttpsProxyAgent/)
  expect(node[0]).toMatchObject({ name: 'node', found: expect.stringMatching(/stripe/) })
  expect(JSON.stringify(node)).toContain('native addons')
})
