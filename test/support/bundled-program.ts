import { type BundledProgram, programBundle } from '../../controlplane/cli/programs/program-bundle.ts'
import { programFile } from '../../controlplane/cli/programs/program-files.ts'

/**
 * Returns the file of a program, as `chaperone up` starts it: the bundle, else the source. The bundle is built before the
 * first test, and its start takes half of the CPU time of a start from the sources.
 */
export async function bundledProgram(program: BundledProgram): Promise<string> {
  return (await programBundle(program, () => undefined)) ?? programFile(program)
}
