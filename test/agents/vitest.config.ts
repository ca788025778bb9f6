import { defineConfig } from 'vitest/config'

/** The newest versions of real agent programs. All cells of the table run at once in one installation: the tests wait for them. */
export default defineConfig({
  test: {
    include: ['test/agents/**/*.suite.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 3_600_000,
    pool: 'forks',
    fileParallelism: false,
    reporters: ['verbose'],
  },
})
