"""Quantized numbers: conversion to and from real numbers, and layers that compute with them."""
