import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readConfig } from '../../controlplane/config.ts'
import { CONFIG_VARIABLES, configTable } from '../../controlplane/config-variables.ts'

test('the README shows every setting that is read, and every setting it shows is read', async () => {
  const read = new Set<string>()
  const given: Record<string, string> = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
  readConfig(
    new Proxy(given, {
      get: (target, name) => {
        read.add(String(name))
        return Reflect.get(target, name) as unknown
      },
    }),
  )
  expect([...read].toSorted()).toEqual(Object.keys(CONFIG_VARIABLES).toSorted())
  const readme = await readFile('README.md', 'utf8')
  expect(readme).toContain(configTable())
})
