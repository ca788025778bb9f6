import { defineConfig } from 'vitest/config'

const LIMITS = { testTimeout: 30_000, hookTimeout: 60_000, pool: 'forks' } as const

export default defineConfig({
  test: {
    // For two cores: a third of the time a test waits for a clock, a process or the network.
    maxWorkers: 3,
    // One slow file must not hide behind a fast one: every failure prints its whole message.
    reporters: ['default'],
    projects: [
      {
        test: {
          ...LIMITS,
          name: 'core',
          include: ['test/core/**/*.test.ts'],
          // Pure functions have no state to share, and loading the catalogue takes longer than most of their tests.
          isolate: false,
        },
      },
      {
        test: {
          ...LIMITS,
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/core/**', 'test/bench/**', '**/node_modules/**'],
        },
      },
    ],
  },
})
