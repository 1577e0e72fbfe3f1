// Shared tools of the JavaScript sessions: reporting of steps, and waiting for blocks.
'use strict'

const PATIENCE_SECONDS = 30
const MESSAGE_SIZE_MAX = 600

// Run a step and print `pass NAME` or `fail NAME: WHY`. A failure doesn't end the session.
async function step(name, work) {
  try {
    await work()
    console.log(`pass ${name}`)
  } catch (error) {
    console.log(`fail ${name}: ${String(error && error.message || error).replace(/\s+/g, ' ').slice(0, MESSAGE_SIZE_MAX)}`)
  }
}

// Fail unless both are equal.
function equal(found, expected) {
  const texts = [JSON.stringify(found), JSON.stringify(expected)]
  if (texts[0] !== texts[1]) throw new Error(`${texts[0]} is not ${texts[1]}`)
}

// Fail unless `work` throws an error with this text. Return the error.
async function refused(work, text) {
  let result
  try {
    result = await work()
  } catch (error) {
    if (!String(error.message).includes(text)) throw new Error(`${text} is not in: ${error.message}`)
    return error
  }
  throw new Error(`it was not refused with ${text}: ${JSON.stringify(result)}`)
}

// Wait until the head has advanced by `count` blocks.
async function waitForBlocks(head, count = 1) {
  const first = await head()
  for (let i = 0; i < 2 * PATIENCE_SECONDS; i++) {
    if (await head() >= first + count) return
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  throw new Error(`no block after ${PATIENCE_SECONDS} s`)
}

module.exports = {step, equal, refused, waitForBlocks}
