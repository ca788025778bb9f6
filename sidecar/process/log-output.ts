import { type DestinationStream, pino } from 'pino'

/** Standard output for log lines. */
export type LogOutput = {
  readonly stream: DestinationStream
  /** Writes the buffered lines. Resolves also if the pipe is closed. Never rejects. */
  flush(): Promise<void>
}

/**
 * Opens the standard output. Lines are written in batches, because a write for each line would cost more than the rest
 * of a refusal.
 *
 * `flush` must be called before the process exits. The logger's own write at exit repeats forever on a closed pipe, for
 * example after the parent process was killed. After a failed flush, the logger writes nothing at exit.
 */
export function openLogOutput(): LogOutput {
  const stream = pino.destination({ dest: 1, sync: false, minLength: 8 * 1024, periodicFlush: 200 })
  return {
    stream,
    flush: () => new Promise((resolve) => stream.flush(() => resolve())),
  }
}
