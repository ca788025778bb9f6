import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that need a cluster without the installation at their start, or leave one at their end. */
const FIRST = ['documentation']
const LAST = ['rights', 'skew']

/** Orders the files by name, and those that install or uninstall so that each finds the state that it needs. */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => basename(moduleId, '.cluster.ts')
    const rank = (file: TestSpecification) =>
      FIRST.includes(nameOf(file)) ? -1 : LAST.indexOf(nameOf(file)) + 1
    return [...files].sort((a, b) => rank(a) - rank(b) || (nameOf(a) < nameOf(b) ? -1 : 1))
  }
}
