import { type BundledProgram, programBundle } from '../../controlplane/cli/programs/program-bundle.ts'
import { programFile } from '../../controlplane/cli/programs/program-files.ts'

/**
 * The file of a program, as `chaperone up` starts it: its bundle, which takes half of the CPU time of its sources to
 * start and was made before the first test, else its sources.
 */
export async function bundledProgram(program: BundledProgram): Promise<string> {
  return (await programBundle(program, () => undefined)) ?? programFile(program)
}
