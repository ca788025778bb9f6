import type { Reporter, TestModule } from 'vitest/node'

/** Prints how long each file took at the end of a run, hooks included. */
export class FileTimes implements Reporter {
  private readonly startedAt = new Map<string, number>()
  private readonly lines: string[] = []

  onTestModuleStart({ relativeModuleId }: TestModule): void {
    this.startedAt.set(relativeModuleId, performance.now())
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    const tookMs = performance.now() - (this.startedAt.get(relativeModuleId) ?? Number.NaN)
    this.lines.push(`${String(Math.round(tookMs / 1_000)).padStart(5)} s  ${relativeModuleId}`)
  }

  onTestRunEnd(): void {
    process.stdout.write(`${this.lines.join('\n')}\n`)
  }
}
