import { defineConfig, type TestProjectConfiguration } from 'vitest/config'
import { ALONE_AT_THE_END, FIRST, FileOrder, OWN_NAMESPACE, TOGETHER } from './file-order.ts'
import { FileTimes } from './file-times.ts'

const pathOf = (name: string) => `test/cluster/${name}.cluster.ts`
const ALL = pathOf('*')

/** A group of files that runs after the groups before it, with so many files at a time. */
function group(order: number, name: string, files: GroupFiles): TestProjectConfiguration {
  const { atATime = 1, include, exclude = [], env = {} } = files
  return {
    test: {
      ...{ name, include: [...include], exclude: [...exclude], maxWorkers: atATime, env },
      ...{ testTimeout: 120_000, hookTimeout: 180_000, pool: 'forks', sequence: { groupOrder: order } },
    },
  }
}
type GroupFiles = {
  readonly include: readonly string[]
  readonly exclude?: readonly string[]
  readonly atATime?: number
  readonly env?: Readonly<Record<string, string>>
}

const first = FIRST.map(pathOf)
const together = TOGETHER.map(pathOf)
const own = [pathOf(OWN_NAMESPACE)]
const last = ALONE_AT_THE_END.map(pathOf)

/** Against a real cluster. The files share one installation; those that change it have it alone. */
export default defineConfig({
  test: {
    globalSetup: ['test/cluster/installation.ts'],
    sequence: { sequencer: FileOrder },
    reporters: ['verbose', new FileTimes()],
    projects: [
      group(1, 'first', { include: first }),
      group(2, 'alone', { include: [ALL], exclude: [...first, ...own, ...together, ...last] }),
      group(3, 'own-namespace', {
        ...{ include: own, atATime: 2, env: { CHAPERONE_TEST_NAMESPACE: 'chaperone-test-sandboxes' } },
      }),
      group(3, 'together', { include: together, atATime: 2 }),
      group(4, 'last', { include: last }),
    ],
  },
})
