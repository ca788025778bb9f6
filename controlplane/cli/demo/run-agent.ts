import { execFile } from 'node:child_process'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { NODE_OPTIONS } from '../programs/node-options.ts'
import { programFile } from '../programs/program-files.ts'

const Line = z.object({ status: z.number().int(), body: z.record(z.string(), z.unknown()).nullable() })
export type AgentResponse = z.infer<typeof Line>

/** Runs one step of the agent in a child process with the given environment. */
export function runAgent(step: 'issue' | 'merge' | 'branch', env: NodeJS.ProcessEnv): Promise<AgentResponse> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...NODE_OPTIONS, programFile('demo-agent'), step],
      { env },
      (error, stdout, stderr) => {
        if (error === null) resolve(Line.parse(JSON.parse(stdout)))
        else
          reject(
            new ChaperoneError('conflict', {
              detail: `The agent of the demo failed, so the demo cannot continue: ${stderr.trim() || error.message}`,
              cause: error,
            }),
          )
      },
    )
  })
}
