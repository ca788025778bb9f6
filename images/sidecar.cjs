'use strict'
// The first program of a sidecar's container. Its code comes with what V8 made of it when the image was built, so that
// a pod does not wait for it to be read and compiled. Node's own cache of that kind is one for each user, and every
// pod has a user of its own. Code of another Node than the image's is refused by V8 itself, and compiled as ever.
const { existsSync, readFileSync, writeFileSync } = require('node:fs')
const { join } = require('node:path')
const vm = require('node:vm')

const file = join(__dirname, 'sidecar-program.js')
const cache = join(__dirname, 'sidecar-program.cache')
const makesCache = process.argv[2] === '--make-cache'

const parameters = ['exports', 'require', 'module', '__filename', '__dirname'].join(',')
// One byte for each character, which is what the build wrote.
const script = new vm.Script(`(function(${parameters}){${readFileSync(file, 'latin1')}\n})`, {
  filename: file,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  ...(!makesCache && existsSync(cache) && { cachedData: readFileSync(cache) }),
})
const program = { exports: {} }
script.runInThisContext()(program.exports, require, program, file, __dirname)
if (makesCache) writeFileSync(cache, script.createCachedData())
