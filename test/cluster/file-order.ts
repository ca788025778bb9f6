import { basename } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that need a cluster without the installation at their start. */
export const FIRST: readonly string[] = ['documentation']
/** Files that leave the installation as it is, and of which each counts only what is its own: two run at a time. */
export const TOGETHER: readonly string[] = [
  ...['authors', 'bypass', 'identity', 'maintenance', 'secrets', 'tenants', 'users'],
]
/** One of these with a namespace of its own, because it counts what is written there. */
export const OWN_NAMESPACE = 'agent-sandbox'
/** Files that remove the installation or leave another one, in this order. */
export const ALONE_AT_THE_END: readonly string[] = ['uninstall', 'rights', 'skew']

/** Orders the files of a group by name, and those that install or uninstall so that each finds the state that it needs. */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => basename(moduleId, '.cluster.ts')
    const rank = (file: TestSpecification) => ALONE_AT_THE_END.indexOf(nameOf(file))
    return [...files].sort((a, b) => rank(a) - rank(b) || (nameOf(a) < nameOf(b) ? -1 : 1))
  }
}
