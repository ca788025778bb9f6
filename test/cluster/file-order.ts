import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that remove the installation at their start or end. They come last and in this order, so that no other file installs
 * from nothing.
 */
const INSTALLING = ['documentation', 'rights', 'skew']

/** Orders the files by name, and those that install from nothing at the end. */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => basename(moduleId, '.cluster.ts')
    const rank = (file: TestSpecification) => INSTALLING.indexOf(nameOf(file))
    return [...files].sort((a, b) => rank(a) - rank(b) || (nameOf(a) < nameOf(b) ? -1 : 1))
  }
}
