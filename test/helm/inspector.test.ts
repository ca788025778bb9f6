import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DEFAULT_PROXY_COMMAND } from '../../core/inject/options.ts'
import { IMAGE_RUN } from '../../scripts/release/image-layers.ts'
import { CHART, helmProgram, LEAST, podsOf, resources } from './chart.ts'

const ROOT = join(CHART, '..')
const FLAG = '--disable-sigusr1'
const ALL = ['--set', 'postgres.bundled=true', '--set', 'operator.evictUngoverned=true']

const textOf = (file: string) => readFileSync(join(ROOT, file), 'utf8')

describe('SIGUSR1, on which Node opens its inspector, is disabled', () => {
  test.skipIf(helmProgram === null)('in every container of the chart, jobs included', async () => {
    for (const values of [LEAST, ALL]) {
      const commands = podsOf(await resources(...values)).flatMap(({ name, spec }) =>
        [...(spec.initContainers ?? []), ...spec.containers].map(({ name: container, command }) => ({
          container: `${name}/${container}`,
          program: command?.[0],
          flag: command?.[1],
        })),
      )
      const ofNode = commands.filter(({ program }) => program === 'node')
      expect(ofNode.length).toBeGreaterThanOrEqual(5)
      expect(ofNode.filter(({ flag }) => flag !== FLAG)).toEqual([])
      // Without a command a container runs what the image starts.
      expect(commands.filter(({ program }) => program === undefined)).toEqual([])
    }
  })

  test('in the image and in sidecars', () => {
    expect(IMAGE_RUN.Entrypoint.slice(0, 2)).toEqual(['node', FLAG])
    expect(DEFAULT_PROXY_COMMAND.slice(0, 2)).toEqual(['node', FLAG])
  })

  test('in the commands of a checkout', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
    for (const name of ['start', 'dev', 'demo'])
      expect(scripts[name]).toMatch(/exec node --disable-sigusr1 .*controlplane\/cli\/main\.ts/)
    expect(textOf('scripts/chaperone.sh')).toMatch(/bin\/node" --disable-sigusr1 /)
  })
})
