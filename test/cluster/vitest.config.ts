import { defineConfig } from 'vitest/config'
import { FileOrder } from './file-order.ts'
import { FileTimes } from './file-times.ts'

/** Against a real cluster, one file at a time: they share one installation. */
export default defineConfig({
  test: {
    include: ['test/cluster/**/*.cluster.ts'],
    globalSetup: ['test/cluster/installation.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    pool: 'forks',
    fileParallelism: false,
    sequence: { sequencer: FileOrder },
    reporters: ['verbose', new FileTimes()],
  },
})
